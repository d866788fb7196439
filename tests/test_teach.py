"""The pages for teachers: the minutes of a plan add up, what a page names is there, and no number is only typed."""
import ast
import functools
import re

import pytest
from book import CHAPTERS, ROOT, figures, names, number_faults, read

PAGES = {path.name: path.read_text(encoding="utf-8") for path in sorted((ROOT / "teach").glob("*.md"))}

COLUMNS = ["from", "to", "what", "with", "why"]
MINUTES = re.compile(r"^\| \d+ \| \d+ \|", re.MULTILINE)
LENGTHS = {"fifty minutes": 50, "ninety minutes": 90}  # as the heading of a plan says it

LABEL = re.compile(r"(?:Figure|Exercise|Question) \d+\.\d+(?![\d.]*\d)")
CHAPTER = re.compile(r"\[([^\]]*)\]\(\.\./chapters/([^)]*)\)")
COMMENT = re.compile(r"<!-- numbers (\d+): (.*) -->")  # the chapter, and the expressions for the numbers above

# What a student can be seen doing. "Understand" is not among them.
VERBS = {"build", "compare", "compute", "draw", "explain", "find", "name", "point", "predict", "read", "repair", "show",
         "split", "test", "trace", "write"}
PARTS = {"plans.md": ["Goals", "Check"],
         "chapters.md": ["Goals", "Misconceptions", "Discussion", "Short of time", "Exercises"]}

each_page = pytest.mark.parametrize("name", PAGES)


@functools.cache
def titles():
    """The title of each chapter, by the name of its file."""
    return {path.name: re.sub(r"# \d+\. ", "", read(path).cells[0].source.splitlines()[0]) for path in CHAPTERS}


@functools.cache
def labels():
    """Every figure, exercise and question of the chapters."""
    found = set()
    for notebook in map(read, CHAPTERS):
        found |= {f"Figure {label}" for label in re.findall(r"<b>Figure ([\d.]+)\.</b>", "".join(figures(notebook)))}
        heads = (re.match(r"(?:### |\*\*)(\w+ \d+\.\d+)\.", cell.source) for cell in notebook.cells)
        found |= {head[1] for head in heads if head}
    return found


# --- the gates -------------------------------------------------------------------------------------------------------

def tables(text):
    """Each table as rows of cells, with the heading above it."""
    heading, rows = "", []
    for line in [*text.splitlines(), ""]:
        if line.startswith("|"):
            rows.append([cell.strip() for cell in line.strip("|").split("|")])
        elif rows:
            yield heading, rows
            rows = []
        if line.startswith("#"):
            heading = line.lstrip("# ")


def plan_faults(text):
    """Plans whose rows do not fill the minutes that their heading names, one after the other."""
    faults = []
    for heading, (columns, _, *rows) in tables(text):
        if columns != COLUMNS or any(len(row) != len(COLUMNS) or not all(row) for row in rows):
            faults.append(f"{heading}: a table with other columns than {COLUMNS}, or with an empty cell")
            continue
        starts, ends = ([int(row[place]) for row in rows] for place in (0, 1))
        length = next((LENGTHS[words] for words in LENGTHS if words in heading), None)
        if [*starts, length] != [0, *ends] or any(start >= end for start, end in zip(starts, ends)):
            faults.append(f"{heading}: from {starts} to {ends} does not fill {length} minutes")
    return faults


def name_faults(text):
    """Figures, exercises, chapters, commands and files that are not there, and chapters under another name."""
    title, targets = titles(), re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    faults = [f"no {label}" for label in LABEL.findall(text) if label not in labels()]
    faults += [f"“{words}” leads to {file}" for words, file in CHAPTER.findall(text) if title.get(file) != words]
    faults += [f"no {command}" for command in re.findall(r"`make [^`]*`", text) if command[6:-1] not in targets]
    faults += [f"no {path}" for path in re.findall(r"`([\w./-]+/)`", text) if not (ROOT / path).is_dir()]
    return faults


def typed_faults(text):
    """Numbers that no gate looks at and no expression gives.

    A comment below a paragraph holds the expressions for its numbers, and says whose names they use:
    <!-- numbers 5: A[chased, dog], d_k -->
    """
    faults = []
    bare = re.sub(f"{LABEL.pattern}|{CHAPTER.pattern}", "", MINUTES.sub("", text))  # other gates look at these
    for paragraph in re.split(r"\n\n|\n(?=- |\d+\. )", bare):
        expressions, defined = [], {}
        if comment := COMMENT.search(paragraph):
            expressions = [ast.unparse(each) for each in ast.parse(f"[{comment[2]}]", mode="eval").body.elts]
            defined = names(CHAPTERS[int(comment[1]) - 1])
        sentences = re.sub(r"^\d+\. ", "", COMMENT.sub("", paragraph, count=1))  # an item of a list has its number
        faults += number_faults(sentences, expressions, defined)
    return faults


def sections(text):
    """The sections of a page, each as its heading and its parts by their name."""
    for section in re.split(r"^## ", text, flags=re.MULTILINE)[1:]:
        heading, *parts = re.split(r"^\*\*([\w ]+)\.\*\*", section, flags=re.MULTILINE)
        yield heading.splitlines()[0], dict(zip(parts[::2], parts[1::2]))


def part_faults(text, wanted):
    """Sections without a part, goals that nobody can observe, beliefs without an answer, questions without a point."""
    faults = []
    for heading, parts in sections(text):
        faults += [f"{heading}: no {part}" for part in wanted if not parts.get(part, "").strip()]
        goals, beliefs, questions = (
            [" ".join(item.split()) for item in re.split(r"^- ", parts.get(part, ""), flags=re.MULTILINE)[1:]]
            for part in ("Goals", "Misconceptions", "Discussion"))
        faults += [f"{heading}: too few goals"] * (len(goals) < 3)
        faults += [f"{heading}: the goal “{goal}”" for goal in goals if goal.split()[0].lower() not in VERBS]
        faults += [f"{heading}: {belief}" for belief in beliefs
                   if not re.match(r'\*\*".+"\*\* .*\*(?:Ask|Run|Show):\* .+ \*Say:\* ', belief)]
        faults += [f"{heading}: {question}" for question in questions if " *Point:* " not in question]
    return faults


def chapter_faults(text, files):
    """Chapters that have no section, a second one, or one in another place."""
    found = [CHAPTER.fullmatch(heading) for heading, _ in sections(text)]
    found = [match and match[2] for match in found]
    return [] if found == files else [f"sections for {found}, expected {files}"]


# --- the pages -------------------------------------------------------------------------------------------------------

@each_page
def test_plans_fill_their_minutes(name):
    assert not plan_faults(PAGES[name])


@each_page
def test_what_a_page_names_is_there(name):
    assert not name_faults(PAGES[name])


@each_page
def test_no_number_is_only_typed(name):
    assert not typed_faults(PAGES[name])


@pytest.mark.parametrize("name", PARTS)
def test_parts(name):
    assert not part_faults(PAGES[name], PARTS[name])


def test_every_chapter_has_a_section():
    assert not chapter_faults(PAGES["chapters.md"], [path.name for path in CHAPTERS])


# --- broken pages ----------------------------------------------------------------------------------------------------

def plan(*rows, heading="A lecture: fifty minutes", columns=COLUMNS):
    lines = [columns, ["---"] * len(columns), *([*row.split(), "this", "that", "so"] for row in rows)]
    return f"## {heading}\n\n" + "\n".join(f"| {' | '.join(line)} |" for line in lines)


@pytest.mark.parametrize("text", [
    plan("0 5", "6 50"),               # a gap
    plan("0 5", "4 50"),               # an overlap
    plan("5 50"),                      # a late start
    plan("0 45"),                      # an early end
    plan("0 60", "60 50"),             # backward
    plan("0 50", "50 50"),             # no time
    plan("0 50", heading="A lecture: ninety minutes"),
    plan("0 50", heading="A lecture"),
    plan("0 50", columns=["from", "to", "what", "why", "with"]),
    plan("0 50").replace(" that ", "  "),   # an empty cell
    plan("0 50").replace(" that |", ""),    # no cell
])
def test_minutes_gate(text):
    assert len(plan_faults(text)) == 1


def test_minutes_gate_lets_a_plan_pass():
    assert not plan_faults(plan("0 5", "5 50")) and not plan_faults("No plan.")


@pytest.mark.parametrize("text, fault", [
    ("See Figure 2.9.", "Figure 2.9"),
    ("See Figure 5.41.", "Figure 5.41"),
    ("See Exercise 2.99.", "Exercise 2.99"),
    ("[Positions](../chapters/08_place.ipynb)", "08_place.ipynb"),
    ("[Position](../chapters/08_positions.ipynb)", "Position"),
    ("[Positions](../chapters/09_the_transformer_block.ipynb)", "Positions"),
    ("Run `make coffee`.", "make coffee"),
    ("Look into `teach/nowhere/`.", "teach/nowhere/"),
])
def test_names_gate(text, fault):
    assert fault in "\n".join(name_faults(text))


def test_names_gate_lets_right_names_pass():
    assert not name_faults("Figure 5.4, [Positions](../chapters/08_positions.ipynb), `make book`, `figures/`.")


SHARP = 'It is $0.42$, not $0.32$.\n<!-- numbers 5: undivided[chased, dog], A[chased, dog] -->'


@pytest.mark.parametrize("text, fault", [
    ("It takes 5 minutes.", "no expression for 5"),
    ("Chapter 5 says so.", "no expression for 5"),
    ("| 5 | once |", "no expression for 5"),
    ("See [there](elsewhere/7.html).", "no expression for 7"),
    (SHARP.replace("0.42", "0.43"), "says 0.43"),
    ("It is $0.42$.\n<!-- numbers 3: A[1, 0] -->", "says 0.42"),  # the A of another chapter
    (SHARP.replace("\n", "\n\n"), "no expression for 0.42"),
    (SHARP.replace("\n", "\n- "), "no expression for 0.42"),
    (SHARP.replace(", A[chased, dog]", ""), "no expression for 0.32"),
    (SHARP.replace("A[chased, dog]", "0.32"), "only typed"),
    (SHARP.replace("not $0.32$", "not less"), "no number in the text"),
    (SHARP + "\n<!-- numbers 5: d_k -->", "no expression for 5"),
    ("It is ½.", "not in digits"),
])
def test_typed_gate(text, fault):
    assert fault in "\n".join(typed_faults(text))


def test_typed_gate_lets_checked_numbers_pass():
    assert not typed_faults(f"{SHARP}\n\n{plan('0 5')}\n\n1. Figure 5.4\n\n[T](../chapters/08_positions.ipynb)")


SECTION = """## [Positions](../chapters/08_positions.ipynb)

**Goals.**

- Show one.
- Predict two.
- Compute three.

**Misconceptions.**

- **"So."** *Ask:* really? *Say:* no.

**Discussion.**

- Why? *Point:* therefore.

**Short of time.** Cut.

**Exercises.** All.
"""


@pytest.mark.parametrize("right, wrong, fault", [
    *((f"**{part}.**", "", f"no {part}") for part in PARTS["chapters.md"]),
    ("**Exercises.** All.", "**Exercises.**", "no Exercises"),
    *(("Show one", f"{vague} one", f"the goal “{vague}") for vague in (
        "Understand", "Know", "Learn", "Appreciate", "Be aware of", "The")),
    ("- Show one.\n", "", "too few goals"),
    (" *Say:* no.", "", "So."),
    (" *Ask:* really?", "", "So."),
    ("**\"So.\"**", "So.", "So."),
    (" *Point:* therefore.", "", "Why?"),
])
def test_parts_gate(right, wrong, fault):
    assert not part_faults(SECTION, PARTS["chapters.md"])
    assert fault in "\n".join(part_faults(SECTION.replace(right, wrong, 1), PARTS["chapters.md"]))


@pytest.mark.parametrize("text", ["", SECTION, SECTION + SECTION.replace("08_positions", "12_next") + SECTION,
                                  SECTION.replace("08_positions", "12_next") + SECTION])
def test_sections_gate(text):
    assert chapter_faults(text, ["08_positions.ipynb", "12_next.ipynb"])

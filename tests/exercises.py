"""The gates of quizzes and exercises: each takes a notebook and returns its faults."""
import re

from book import code_cells, tags, text_of

CHOICE = re.compile(r'<details name="([^"]+)"><summary>([^<].*?)</summary>\n\n'
                    r"(\*\*(?:Right|Not this one)\.\*\*) (.+?)\n\n</details>", re.DOTALL)
ABOUT = re.compile(r"\*\*Goal:\*\* .+? \*\*Difficulty:\*\* (?:easy|medium|hard)\. \*\*Time:\*\* about [a-z-]+ minutes\.",
                   re.DOTALL)


def quiz_faults(notebook, number):
    """Three to five questions, each with three choices or more, one of them right, and a reason for each."""
    faults, cells = [], [cell.source for cell in notebook.cells if cell.source.startswith("**Question ")]
    if not 3 <= len(cells) <= 5:
        faults.append(f"{len(cells)} questions")
    for place, text in enumerate(cells, start=1):
        choices = CHOICE.findall(text)
        if not text.startswith(f"**Question {number}.{place}.** "):
            faults.append(f"question {place} begins {text[:20]}")
        if len(choices) < 3 or text.count("<details") != len(choices):
            faults.append(f"question {place} has {len(choices)} choices and {text.count('<details')} folds")
        if [kind for *_, kind, _ in choices].count("**Right.**") != 1:
            faults.append(f"question {place} has not one right choice")
        if {name for name, *_ in choices} - {f"quiz-{number}-{place}"}:
            faults.append(f"question {place} has choices of another one")
    return faults


def exercises(notebook):
    """The cells of each exercise, from its heading to the next one, and its code cells by tag."""
    found = []
    for cell in notebook.cells:
        if cell.source.startswith("### Exercise "):
            found.append({"all": [], "exercise": [], "solution": []})
        elif cell.cell_type == "markdown" and re.match("#+ ", cell.source) and found:
            break
        if found:
            found[-1]["all"].append(cell)
            if cell.cell_type == "code":
                found[-1].setdefault(next(iter(tags(cell)), ""), []).append(cell)
    return found


def checked(cell):
    """The name of the check that the last line of a cell calls."""
    called = re.match(r"check\.(\w+)\(", cell.source.splitlines()[-1])
    return called and called[1]


def exercise_faults(notebook, number):
    """Four exercises or more, each with a goal, a stub that answers, a hint or two, and a solution that is right."""
    faults, found = [], exercises(notebook)
    if len(found) < 4:
        faults.append(f"{len(found)} exercises")
    if sum(tags(cell)[:1] in (("exercise",), ("solution",)) for cell in code_cells(notebook)) != 2 * len(found):
        faults.append("a stub or a solution that belongs to no exercise, or one too many")
    for place, parts in enumerate(found, start=1):
        text = "\n".join(cell.source for cell in parts["all"] if cell.cell_type == "markdown")
        if not text.startswith(f"### Exercise {number}.{place}. "):
            faults.append(f"exercise {place} begins {text[:20]}")
        if not ABOUT.search(text):
            faults.append(f"exercise {place} does not say its goal, difficulty and time")
        if not 1 <= len(re.findall("<summary>(?:Hint|Another hint)</summary>", text)) <= 2:
            faults.append(f"exercise {place} has not one hint or two")
        stub, solution = ([checked(cell) for cell in parts[tag]] for tag in ("exercise", "solution"))
        if stub != solution or len(stub) != 1 or not stub[0]:
            faults.append(f"exercise {place}: the stub calls {stub}, the solution {solution}")
        for tag, answer in (("exercise", "Not filled in yet: "), ("solution", "Right. ")):
            faults += [f"exercise {place}: the {tag} prints {printed!r}" for cell in parts[tag]
                       if not (printed := "".join(map(text_of, cell.outputs))).startswith(answer)]
        # JupyterLab shows the first line of a folded cell, and once it has run, its output.
        faults += [f"exercise {place}: the solution begins {cell.source[:40]!r}" for cell in parts["solution"]
                   if not cell.source.startswith("# A solution\n")]
    return faults

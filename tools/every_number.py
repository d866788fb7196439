"""Write numbers.md: every statement and every number in a sentence, with a link to the cell that it comes from."""
import ast
import itertools
import re
import symtable
import textwrap

from book import CHAPTERS, ROOT, chapter_number, computed_numbers, decimals, names, prints, prose, read, text_of

PAGE = ROOT / "numbers.md"
HEAD = """# Every number in this book

Beside each number in a sentence the chapter keeps an expression: a test runs the chapter, evaluates the expression, rounds as
the sentence does and compares. Each statement of the essay has a test as well: it compares what the chapter computes and
prints with what the essay says.

A statement links to a cell that shows it, an expression to the cell after which it has its value. `make numbers` writes this
page from the chapters.
"""
WORD = re.compile(r"(?:\$[^$]+\$|`[^`]+`|\S)+")  # a formula and a piece of code stay whole


def page():
    return "\n".join([HEAD, *(section(path.name, read(path), names(path), chapter_number(path)) for path in CHAPTERS)])


def section(file, notebook, defined, number):
    lines = [f"#{notebook.cells[0].source.splitlines()[0]}", ""]
    for head, rows in [
        ("| statement | what the cell prints |\n|---|---|", statement_rows(file, notebook)),
        ("| in the sentence | value | from |\n|---|---|---|", number_rows(file, notebook, defined, number)),
    ]:
        if rows:
            lines += [head, *rows, ""]
    return "\n".join(lines)


def statement_rows(file, notebook):
    """A row for each statement, with the first cell that shows it and prints something, or else with the cell above its text."""
    shown, rows = {}, []
    for place, cell in enumerate(notebook.cells):
        if cell.cell_type == "code":
            code_place = place
        printed = "".join(map(text_of, cell.get("outputs", ())))
        for statement in cell.metadata.get("shows", ()):
            shown.setdefault(statement, []).append((code_place, printed))
    for statement, cells in shown.items():
        place, printed = next((cell for cell in cells if cell[1]), cells[0])
        line = textwrap.shorten(printed.strip().partition("\n")[0], 48, placeholder=" …")
        rows.append(f"| {link(statement, file, place)} | {code(line) if line else 'the text below says it'} |")
    return rows


def number_rows(file, notebook, defined, number):
    """A row for each expression, with all the numbers that it stands for."""
    rows = []
    for _, cell, text in prose(notebook, number):
        found = computed_numbers(text, cell.metadata.get("numbers", []), defined)
        for expression, group in itertools.groupby(found, key=lambda each: each[1]):
            matches, _, values = zip(*group)
            words = around(text, matches[0].start(), matches[-1].end())
            printed = ", ".join(map(as_printed, matches, values))
            rows.append(f"| {words} | {printed} | {link(code(expression), file, computed_in(notebook, expression))} |")
    return rows


def as_printed(match, value):
    """The value as the sentence rounds it. Where it lies halfway between two digits, the sentence chose."""
    if prints(value, float(match[0].replace("−", "-")), decimals(match)):
        return match[0].replace("-", "−")
    return f"{round(float(value), decimals(match)) + 0.0:.{decimals(match)}f}".replace("-", "−")


def around(text, start, end):
    """A few words before and after, from the same paragraph."""
    words = list(WORD.finditer(text, text.rfind("\n\n", 0, start) + 1, f"{text}\n\n".find("\n\n", end)))
    inside = [place for place, word in enumerate(words) if word.end() > start and word.start() < end]
    first, last = max(inside[0] - 4, 0), inside[-1] + 4
    few = " ".join(word[0] for word in words[first:last]).replace("**", "").replace("|", r"\|")
    return "… " * (first > 0) + few + " …" * (last < len(words))


def computed_in(notebook, expression):
    """The place of the last cell that gives a value to a name of the expression."""
    used = {node.id for node in ast.walk(ast.parse(expression)) if isinstance(node, ast.Name)}
    return max(place for place, cell in enumerate(notebook.cells) if cell.cell_type == "code" and used & bound(cell.source))


def bound(source):
    symbols = symtable.symtable(source, "cell", "exec").get_symbols()
    return {symbol.get_name() for symbol in symbols if symbol.is_assigned() or symbol.is_imported()}


def code(text):
    return f"`{text}`".replace("|", r"\|")


def link(text, file, place):
    return f"[{text}](chapters/{file}#cell-{place})"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")

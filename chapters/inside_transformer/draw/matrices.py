"""Matrices: on their own, side by side, and laid out as a product."""
import dataclasses

import numpy as np

from .._input import some
from .canvas import CELL, SMALL, TEXT, Canvas, number
from .figure import ROLES

GAP = 26
BELOW = 48  # room for a name under a matrix
ROLE_OF = {"X": "X", "Q": "Q", "K": "K", "V": "V", "S": "A", "A": "A", "W": "W"}


@dataclasses.dataclass
class Matrix:
    """An array to draw: its numbers, its name, what it is with its shape, and the names of its rows and columns.

    values: (rows, columns). role: the colour it wears, by default that of the first letter of its name.
    values may hold -inf, for masked scores. digits: decimals printed; None leaves the numbers out. lit: (row, column) pairs that stand out. sums: the axes to print sums for.
    corner: what a row does and what is done to a column, written at their names.
    """
    values: np.ndarray
    name: str
    note: str = ""
    rows: list = None
    cols: list = None
    role: str = None
    digits: int = 2
    lit: tuple = ()
    sums: tuple = ()
    corner: tuple = ()

    def __post_init__(self):
        self.values = some(self.name, self.values, axes=2, masked=True)
        height, width = self.values.shape
        for what, names, size in (("rows", self.rows, height), ("cols", self.cols, width)):
            if names is not None and len(names) != size:
                raise ValueError(f"{what} of {self.name} needs {size} names, got {len(names)}: {names}")
        self.role = self.role or ROLE_OF.get(self.name[:1].upper(), "output")
        if self.role not in ROLES:
            raise ValueError(f"role of {self.name} must be one of {list(ROLES)}, got {self.role!r}")
        for place in self.lit:
            if place not in list(np.ndindex(height, width)):
                raise ValueError(f"lit of {self.name} points at {place}, which is no cell of shape {self.values.shape}")
        longest = max(len(self.number(i, j)) for i, j in np.ndindex(height, width))
        least = 20 if self.digits is None else max(36, 10 * longest + 6)
        self.cell = max([least] + [text_width(col, SMALL) for col in self.cols or ()])
        self.largest = np.abs(self.values[np.isfinite(self.values)]).max(initial=0)
        self.left = max((text_width(row) for row in self.rows or ()), default=0) + 10
        self.top = (24 if self.cols or 1 in self.sums else 0) + (22 if self.corner else 0)
        named = 0.5 * 21 * len(self.name) + 0.55 * TEXT * len(self.note)  # the name may be wider than the cells
        self.right = max(62 if 1 in self.sums else 0, named - self.width)
        self.below = BELOW + (30 if 0 in self.sums else 0)

    @property
    def width(self):
        return self.values.shape[1] * self.cell

    @property
    def height(self):
        return self.values.shape[0] * CELL

    def draw(self, canvas, x, y, classes="", numbers=True, below=None):
        """Cells with numbers, row names at the left, column names above, the name of the array below."""
        for (i, j), value in np.ndenumerate(self.values):
            canvas.shade(x + j * self.cell, y + i * CELL, self.cell, CELL, value, self.largest, self.role)
            if numbers:
                self._number(canvas, x, y, i, j, classes)
        for i, row in enumerate(self.rows or ()):
            canvas.text(x - 9, y + i * CELL + CELL / 2, row, align="end")
        for j, col in enumerate(self.cols or ()):
            canvas.text(x + (j + 0.5) * self.cell, y - 12, col, size=SMALL)
        for axis, total in ((axis, self.values.sum(axis)) for axis in self.sums):
            for i, value in enumerate(total):
                place = (self.width + 34, (i + 0.5) * CELL) if axis else ((i + 0.5) * self.cell, self.height + 20)
                canvas.number(x + place[0], y + place[1], value, self.digits, f"{'r' if axis else 'c'}{i}")
        if 1 in self.sums:
            canvas.text(x + self.width + 34, y - 12, "sum", size=SMALL)
        if 0 in self.sums:
            canvas.text(x - 9, y + self.height + 20, "sum", size=SMALL, align="end")
        if self.corner:
            canvas.text(x - 9, y - 12, self.corner[0] + " ↓", size=SMALL, align="end")
            canvas.text(x, y - 36, self.corner[1] + " →", size=SMALL, align="start")
        canvas.name(x, y + self.height + (below or self.below) - 26, self.name, self.role, self.note)

    def hit(self, canvas, x, y, i, j, say):
        """The box that can be pointed at, with the number on top of it."""
        canvas.hit(x + j * self.cell, y + i * CELL, self.cell, CELL, f"{self.role} r{i} c{j}", say)
        self._number(canvas, x, y, i, j)

    def number(self, i, j):
        return number(self.values[i, j], 2 if self.digits is None else self.digits)

    def _number(self, canvas, x, y, i, j, classes=""):
        if self.digits is None:
            return
        on = "on" if (i, j) in self.lit else ""
        canvas.number(x + (j + 0.5) * self.cell, y + (i + 0.5) * CELL, self.values[i, j], self.digits,
                      f"{classes} r{i} c{j} {on}")

    def place(self, i, j):
        row = self.rows[i] if self.rows else f"row {i + 1}"
        col = self.cols[j] if self.cols else f"column {j + 1}"
        return f"{row}, {col}"

    def lit_in_words(self, rows):
        """What is lit: a whole row by its name and numbers, else cell by cell."""
        i, width = self.lit[0][0], self.values.shape[1]
        if set(self.lit) == {(i, j) for j in range(width)}:
            name = (self.rows or rows or {}) and (self.rows or rows)[i]
            return f"the row of {name or i + 1}: " + " ".join(self.number(i, j) for j in range(width))
        return ", ".join(f"{self.place(i, j)}: {self.number(i, j)}" for i, j in self.lit)

    def sums_in_words(self, axis):
        return " ".join(number(total, self.digits) for total in self.values.sum(axis))

    def as_text(self):
        lines = [" ".join(filter(None, (self.name, self.note))).strip()]
        rows = self.rows or [""] * len(self.values)
        side = max(map(len, rows))
        cells = [[self.number(i, j) for j in range(self.values.shape[1])] for i in range(len(rows))]
        cols = self.cols or [""] * len(cells[0])
        wide = max(len(text) for row in [*cells, cols] for text in row)
        if self.cols:
            lines.append("  ".join([" " * side, *(col.rjust(wide) for col in cols)]))
        lines += ["  ".join([name.rjust(side), *(text.rjust(wide) for text in row)]) for name, row in zip(rows, cells)]
        lines += [f"sums of {'rows' if axis else 'columns'}  {self.sums_in_words(axis)}" for axis in self.sums]
        return "\n".join(line.rstrip() for line in lines)


def text_width(text, size=TEXT):
    """About how wide a page will set this, whatever its font."""
    return 0.58 * size * len(text)


def product(left, right, result, label, caption):
    """A product: the left operand at the left, the right one above, each result cell where its row meets its column.

    Raises ValueError where the sizes do not fit or the result is not the product.
    """
    check_product(left, right, result)
    inner = range(left.values.shape[1])
    left = dataclasses.replace(left, lit=[(i, k) for i, _ in result.lit for k in inner])
    right = dataclasses.replace(right, lit=[(k, j) for _, j in result.lit for k in inner])
    named = dataclasses.replace(result, rows=left.rows, cols=right.cols)
    right.cell = result.cell = max(right.cell, result.cell)  # a result stands below its column

    x, y = 4 + left.left, 4 + right.top + right.height + BELOW + left.top
    across = x + left.width + GAP + max(right.left, right.cell - GAP)
    canvas = Canvas(across + right.width + right.right + 4, y + left.height + BELOW + 42)
    left.draw(canvas, x, y, "l")
    right.draw(canvas, across, 4 + right.top, "t")
    result.draw(canvas, across, y, numbers=False)
    for i in range(len(left.values)):
        on = "on" if (i, 0) in left.lit else ""
        canvas.frame(x, y + i * CELL, left.width, CELL, left.role, f"l r{i} {on}")
    for j in range(right.values.shape[1]):
        on = "on" if (0, j) in right.lit else ""
        canvas.frame(across + j * right.cell, 4 + right.top, right.cell, right.height, right.role, f"t c{j} {on}")
    for i, j in result.lit:
        canvas.frame(across + j * result.cell, y + i * CELL, result.cell, CELL, result.role, "on")
    for i, j in np.ndindex(result.values.shape):
        sum_ = _sum(left, right, result, i, j)
        result.hit(canvas, across, y, i, j, f"{named.place(i, j)}: {sum_}")
        for line, text in enumerate(_lines(sum_, canvas.width - x)):
            canvas.text(x, y + left.height + BELOW + 8 + 20 * line, text, align="start",
                        class_="sum on" if (i, j) in result.lit else "sum")

    alt = (f"The product of {left.name}, shape {left.values.shape}, and {right.name}, shape {right.values.shape}: "
           f"{result.name}, shape {result.values.shape}.")
    alt += "".join(f" Lit is {named.place(i, j)}: {_sum(left, right, result, i, j)}." for i, j in result.lit)
    links = [(f".r{i}", f".l.r{i}") for i in range(len(left.values))]
    links += [(f".c{j}", f".t.c{j}") for j in range(right.values.shape[1])]
    return canvas.figure(label, caption, alt, "\n".join(m.as_text() for m in (left, right, named)), "product", links)


def check_product(left, right, result):
    for side, matrix in (("left", left), ("right", right), ("result", result)):
        if not isinstance(matrix, Matrix):
            raise ValueError(f"{side} needs a Matrix, got {type(matrix).__name__}")
    shapes = f"left {left.values.shape}, right {right.values.shape}, result {result.values.shape}"
    if left.values.shape[1] != right.values.shape[0]:
        raise ValueError(f"left {left.name} needs as many columns as right {right.name} has rows: {shapes}")
    if result.values.shape != (len(left.values), right.values.shape[1]):
        raise ValueError(f"result {result.name} needs the rows of left and the columns of right: {shapes}")
    if not np.allclose(left.values @ right.values, result.values):
        raise ValueError(f"result {result.name} is not {left.name} times {right.name}: {shapes}")


def matrices(*items, label, caption, link="rows"):
    """Matrices side by side, with signs such as "→" between them. "\n" starts a new line.

    link: what pointing at a cell lights: "rows" or "cols", the same row or column of every matrix; "mirror", the cell
    across the diagonal; "none", nothing else.
    """
    if link not in ("rows", "cols", "mirror", "none"):
        raise ValueError(f"link must be 'rows', 'cols', 'mirror' or 'none', got {link!r}")
    lines = [[]]
    for item in items:
        lines.append([]) if isinstance(item, str) and item == "\n" else lines[-1].append(item)
    on_line = [[item for item in line if isinstance(item, Matrix)] for line in lines]
    if not all(on_line) or not all(isinstance(item, (Matrix, str)) for item in items):
        raise ValueError("items needs a Matrix on each line, and signs between, "
                         f"got {[type(item).__name__ for item in items]}")
    drawn = sum(on_line, [])
    tall = [(max(m.top for m in line), max(m.height + m.below for m in line)) for line in on_line]
    canvas = Canvas(max(sum(map(_across, line)) for line in lines) + 8, sum(map(sum, tall)) + 12 * len(lines))
    y = 4
    for line, (top, height) in zip(lines, tall):
        x = 4
        for item in line:
            if isinstance(item, Matrix):
                # Where sums stand under one of them, all names stand on one line.
                below = height - item.height if any(m.sums for m in drawn) else item.below
                _draw_linked(canvas, item, x + item.left, y + top, link, below)
            else:
                canvas.text(x + _across(item) / 2, y + top + (height - BELOW) / 2, item, size=20)
            x += _across(item)
        y += top + height + 12
    alt = ", ".join(f"{m.name}, shape {m.values.shape}" for m in drawn) + "."
    alt += "".join(f" In {m.name} stands out {m.lit_in_words(drawn[0].rows)}." for m in drawn if m.lit)
    alt += "".join(f" The sums of {m.name} along axis {axis} are {m.sums_in_words(axis)}."
                   for m in drawn for axis in m.sums)
    return canvas.figure(label, caption, alt, "\n".join(m.as_text() for m in drawn), link, _links(drawn, link))


def _draw_linked(canvas, matrix, x, y, link, below):
    matrix.draw(canvas, x, y, numbers=False, below=below)
    height, width = matrix.values.shape
    if link == "rows":
        frames = [(0, i, width, 1, f"r{i}") for i in range(height)]
    elif link == "cols":
        frames = [(j, 0, 1, height, f"c{j}") for j in range(width)]
    else:
        frames = [(j, i, 1, 1, f"r{i} c{j}") for i, j in np.ndindex(height, width)]
    for j, i, across, down, place in frames:
        on = "on" if all(cell in matrix.lit for cell in np.ndindex(height, width)
                         if j <= cell[1] < j + across and i <= cell[0] < i + down) else ""
        canvas.frame(x + j * matrix.cell, y + i * CELL, across * matrix.cell, down * CELL, matrix.role, f"{place} {on}")
    for i, j in np.ndindex(height, width):
        matrix.hit(canvas, x, y, i, j, f"{matrix.name}: {matrix.place(i, j)}: {matrix.number(i, j)}")


def _links(drawn, link):
    height = max(m.values.shape[0] for m in drawn)
    width = max(m.values.shape[1] for m in drawn)
    if link == "rows":
        return [(f".r{i}", f".r{i}") for i in range(height)]
    if link == "cols":
        return [(f".c{j}", f".c{j}") for j in range(width)]
    return [(f".r{i}.c{j}", f".r{j}.c{i}") for i, j in np.ndindex(height, width)] if link == "mirror" else []


def _across(item):
    """How much of the width one item of a row takes."""
    return item.left + item.width + item.right + 8 if isinstance(item, Matrix) else 24 + text_width(item, 20)


def _sum(left, right, result, i, j):
    """The sum behind one cell of a product, without its zeros: 0.48 = 0.32 × 1.50."""
    terms = [(number(a, left.digits), number(b, right.digits))
             for a, b in zip(left.values[i], right.values[:, j]) if a and b]
    value = number(result.values[i, j], result.digits)
    if not terms:
        return f"{value}: every product is 0"
    # The rounded factors need not give the rounded sum.
    again = sum(_value(a) * _value(b) for a, b in terms)
    return f"{value} {'=' if number(again, result.digits) == value else '≈'} " + " + ".join(f"{_factor(a)} × {_factor(b)}" for a, b in terms)


def _factor(text):
    return f"({text})" if text.startswith("−") else text


def _lines(text, width):
    """A sum on as many lines as it needs."""
    lines = [""]
    for term in text.split(" + "):
        longer = f"{lines[-1]} + {term}" if lines[-1] else term
        if lines[-1] and text_width(longer) > width:
            lines += [f"+ {term}"]
        else:
            lines[-1] = longer
    return lines


def _value(text):
    return float(text.replace("−", "-"))

"""The paper that figures are drawn on: SVG elements, written one after the other, that take their ink from the page.

One unit of the canvas is one unit of the SVG, with y pointing down. Curves and plots need a `chart.Chart`.
"""
import re
from xml.etree.ElementTree import Element, SubElement, tostring

import numpy as np

from .figure import INK, ROLES, Figure

CELL = 46                         # the height of a cell, and its least width where nothing says otherwise
TEXT, SMALL, DIGITS = 14, 13, 15  # sizes: what is written beside cells, above them, in them
MIDDLE = 0.38                     # how far below its middle a line of text has its baseline, as a share of its size
MINUS = ".7"                      # how strong the mark of a negative number is, whatever its size
RULE = {"stroke": INK, "stroke_opacity": "0.3"}  # a thin edge


def number(value, digits=2):
    """A number as the book prints it: fixed decimals, a real minus sign, no minus zero."""
    if value == -np.inf:
        return "−∞"
    text = f"{round(float(value), 9):.{digits}f}"  # first to nine places, so that a tie rounds alike on every processor
    if float(text) == 0:
        text = text.lstrip("-")
    return text.replace("-", "−")


def short(value, digits=1):
    """A coordinate, to a tenth of a unit."""
    text = f"{round(float(value), 6):.{digits}f}".rstrip("0").rstrip(".")
    return "0" if text == "-0" else text


def path(points):
    """Straight lines from point to point, as the attribute d of a path has them."""
    return "M " + " L ".join(f"{short(x)} {short(y)}" for x, y in points)


def write(element, text):
    """W_Q becomes W with Q below the line; what follows a space is on the line again."""
    element.text, *rest = re.split(r"_(\w+)", text)
    for below, after in zip(rest[::2], rest[1::2]):
        SubElement(element, "tspan", {"class": "sub", "dy": "5"}).text = below
        if after:
            SubElement(element, "tspan", {"dy": "-5"}).text = after


class Canvas:
    def __init__(self, width, height):
        self.width, self.height = width, height
        self.svg = Element("svg")

    def add(self, tag, **attributes):
        """An element on top of those before it. `stroke_width` is the attribute stroke-width, `class_` is class."""
        return SubElement(self.svg, tag, {
            name.rstrip("_").replace("_", "-"): value.strip() if isinstance(value, str) else short(value)
            for name, value in attributes.items()})

    def text(self, x, y, text, size=TEXT, align="middle", note="", **attributes):
        """Text around or beside (x, y). `note` follows it, smaller."""
        element = self.add("text", text_anchor=align, font_size=size, x=x, y=y + MIDDLE * size, **attributes)
        write(element, text)
        if note:
            SubElement(element, "tspan", {"class": "note", "dx": "9"}).text = note

    def name(self, x, y, text, role, note="", align="start", size=21, lit=""):
        """The name of an array: italic serif in the color of its role, its shape small behind it."""
        self.text(x, y, text, size, align, note, class_=f"name {role} {lit}")

    def box(self, x, y, width, height, fill="none", **attributes):
        self.add("rect", x=x, y=y, width=width, height=height, fill=fill, **attributes)

    def shade(self, x, y, width, height, value, largest, role):
        """A cell in the color of its role, the stronger the larger its value. Below zero it has a minus at its foot.

        Minus infinity is hatched.
        """
        if value == -np.inf:
            self.box(x, y, width, height, **RULE)
            for k in (0.5, 1, 1.5):  # from the right or top edge down to the left or bottom edge
                self.line([(x + min(k, 1) * width, y + max(k - 1, 0) * height),
                           (x + max(k - 1, 0) * width, y + min(k, 1) * height)], stroke_opacity=".35")
            return
        share = abs(value) / largest if largest else 0
        strongest = 0.2 if role == "W" else 0.35  # the number on it keeps a contrast of 4.5, also where it is dimmed
        self.box(x, y, width, height, ROLES[role], fill_opacity=short(0.06 + strongest * share, 2), **RULE)
        if number(value).startswith("−"):
            self.box(x + 0.3 * width, y + 0.84 * height, 0.4 * width, 0.09 * height, ROLES[role], opacity=MINUS)

    def cell(self, x, y, width, height, value, largest, role, digits=2, classes=""):
        """A shaded cell with its number in it."""
        self.shade(x, y, width, height, value, largest, role)
        self.number(x + width / 2, y + height / 2, value, digits, classes)

    def number(self, x, y, value, digits=2, classes=""):
        self.text(x, y, number(value, digits), DIGITS, class_=f"num {classes}")

    def hit(self, x, y, width, height, classes, say):
        """A place to point at or to tab to. say: what a screen reader says there."""
        self.box(x, y, width, height, class_=f"hit {classes}", pointer_events="all", tabindex="0", role="img", aria_label=say)

    def frame(self, x, y, width, height, role, lit):
        """A heavy frame that shows only while it is lit."""
        self.box(x, y, width, height, stroke=ROLES[role], stroke_width=3, class_=f"frame {lit}")

    def line(self, points, color=INK, width=1, **attributes):
        self.add("path", d=path(points), fill="none", stroke=color, stroke_width=width, **attributes)

    def arrow(self, start, end, color=INK, width=2, bend=0, head=12):
        """An arrow whose tip is at `end`. bend: how far it bows to its right, as a share of its length."""
        start, end = np.array(start, dtype=float), np.array(end, dtype=float)
        x, y = end - start
        turn = (start + end) / 2 + bend * np.array([-y, x])  # the point that a bent arrow leans towards
        ahead = (end - turn) / (np.hypot(*(end - turn)) or 1)
        aside = np.array([-ahead[1], ahead[0]])
        long, wide = 0.4 * head, 0.2 * head
        tip = end - ahead * width / 2 * np.hypot(long, wide) / wide  # a stroked corner ends this far beyond its point
        back = tip - long * ahead
        (x0, y0), (x1, y1) = map(short, start), map(short, tip)
        through = f"Q {short(turn[0])} {short(turn[1])}" if bend else "L"
        stroke = {"stroke": color, "stroke_width": width}
        self.add("path", d=f"M {x0} {y0} {through} {x1} {y1}", fill="none", **stroke)
        self.add("path", d=path([back + wide * aside, tip, back - wide * aside]) + " z", fill=color, **stroke)

    def figure(self, label, caption, alt, text, kind="", links=()):
        """What is on the canvas, as a Figure."""
        self.svg.attrib = {
            "xmlns": "http://www.w3.org/2000/svg", "viewBox": f"0 0 {short(self.width)} {short(self.height)}",
            "style": f"max-width:{short(self.width)}px", "fill": INK,
            # An image hides what is in it; a group lets the reader step through the cells.
            "role": "img" if self.svg.find("*[@tabindex]") is None else "group", "aria-label": alt}
        return Figure(tostring(self.svg, encoding="unicode"), label, caption, alt, text, kind, links)

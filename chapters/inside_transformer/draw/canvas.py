"""The paper that every figure is drawn on: matplotlib draws, and what comes out is SVG that takes its ink from the page.

One unit of the canvas is one unit of the SVG, with y pointing down.
"""
import io
import re
from xml.etree import ElementTree

import numpy as np
from matplotlib import rc_context
from matplotlib.figure import Figure as Sheet
from matplotlib.patches import FancyArrowPatch, PathPatch, Rectangle
from matplotlib.path import Path

from .figure import INK, ROLES, Figure



def number(value, digits=2):
    """A number as the book prints it: fixed decimals, a real minus sign, no minus zero."""
    if value == -np.inf:
        return "−∞"
    text = f"{value:.{digits}f}"
    if float(text) == 0:
        text = text.lstrip("-")
    return text.replace("-", "−")


class Canvas:
    def __init__(self, width, height):
        self.width, self.height = width, height
        self.sheet = Sheet(figsize=(width / 72, height / 72), dpi=72)
        self.sheet.patch.set_visible(False)
        self.axes = self.sheet.add_axes((0, 0, 1, 1))
        self.axes.set(xlim=(0, width), ylim=(height, 0))
        self.axes.axis("off")
        self.marks = []  # attributes of each element that needs some, by its place in this list
        self.order = 0   # what is drawn later lies on top

    def mark(self, artist, **attributes):
        """Add an artist; its element in the SVG gets these attributes (`class_` is the class)."""
        artist.set_gid(f"mark{len(self.marks)}")
        artist.set_clip_on(False)
        self.order += 1
        artist.set_zorder(self.order)
        self.marks.append({name.rstrip("_").replace("_", "-"): value.strip() for name, value in attributes.items() if value})
        return artist

    def text(self, x, y, text, size=14, align="middle", color=INK, note="", **attributes):
        """Text around or beside (x, y). `note` follows it, smaller. "W_Q" puts Q below the line."""
        side = {"start": "left", "middle": "center", "end": "right"}[align]
        artist = self.axes.text(x, y, text.replace("$", r"\$"), size=size, ha=side, va="center_baseline", color=color)
        self.mark(artist, note=note, **attributes)

    def name(self, x, y, text, role, note="", align="start", size=21, lit=""):
        """The name of an array: italic serif in the colour of its role, its shape small behind it."""
        self.text(x, y, text, size=size, align=align, note=note, class_=f"name {role} {lit}")

    def box(self, x, y, width, height, fill="none", alpha=1.0, edge="none", line=1.0, **attributes):
        face = "none" if fill == "none" else (*_rgb(fill), alpha)
        self.axes.add_patch(self.mark(
            Rectangle((x, y), width, height, facecolor=face, edgecolor=edge, linewidth=line), **attributes))

    def shade(self, x, y, width, height, value, largest, role):
        """A cell in the colour of its role, the stronger the larger its value. Minus infinity is hatched."""
        if value == -np.inf:
            self.box(x, y, width, height, edge=(0, 0, 0, 0.3))
            for k in (0.5, 1, 1.5):  # from the right or top edge down to the left or bottom edge
                self.line([(x + min(k, 1) * width, y + max(k - 1, 0) * height),
                           (x + max(k - 1, 0) * width, y + min(k, 1) * height)], stroke_opacity=".35")
            return
        share = abs(value) / largest if largest else 0
        strongest = 0.2 if role == "W" else 0.35  # the number on it keeps a contrast of 4.5, also where it is dimmed
        self.box(x, y, width, height, ROLES[role], 0.06 + strongest * share, (0, 0, 0, 0.3))

    def cell(self, x, y, width, height, value, largest, role, digits=2, classes=""):
        """A shaded cell with its number in it."""
        self.shade(x, y, width, height, value, largest, role)
        self.number(x + width / 2, y + height / 2, value, digits, classes)

    def number(self, x, y, value, digits=2, classes=""):
        self.text(x, y, number(value, digits), size=15, class_=f"num {classes}")

    def frame(self, x, y, width, height, role, lit):
        """A heavy frame that shows only while it is lit."""
        self.box(x, y, width, height, edge=ROLES[role], line=3, class_=f"frame {lit}")

    def arrow(self, start, end, color=INK, line=2.0, bend=0.0, head=12, **attributes):
        self.axes.add_patch(self.mark(FancyArrowPatch(
            start, end, arrowstyle="-|>", mutation_scale=head, shrinkA=0, shrinkB=0, color=color, linewidth=line,
            connectionstyle=f"arc3,rad={bend}", joinstyle="miter"), **attributes))

    def line(self, points, color=INK, line=1.0, **attributes):
        self.axes.add_patch(self.mark(
            PathPatch(Path(points), facecolor="none", edgecolor=color, linewidth=line), **attributes))

    def plot(self, x, y, width, height, xlabel="", ylabel=""):
        """A pair of axes for a curve or bars, in the box given, with quiet rules and no ticks."""
        axes = self.sheet.add_axes((x / self.width, 1 - (y + height) / self.height, width / self.width,
                                    height / self.height), facecolor="none")
        axes.spines[:].set_visible(False)
        axes.tick_params(length=0, labelsize=14, pad=5)
        axes.grid(color=INK, alpha=0.15)
        axes.set_axisbelow(True)
        axes.set_xlabel(xlabel, size=14)
        axes.set_ylabel(ylabel, size=14)
        return axes

    def figure(self, label, caption, alt, text, kind="", links=()):
        return Figure(self._svg(alt), label, caption, alt, text, kind, links)

    def _svg(self, alt):
        out = io.StringIO()
        with rc_context({"svg.fonttype": "none", "axes.unicode_minus": True, "text.parse_math": False}):
            self.sheet.savefig(out, format="svg")
        root = _tidy(ElementTree.fromstring(out.getvalue()), self.marks)[0]
        root.tag, root.text = "svg", None
        root.attrib = {
            "xmlns": "http://www.w3.org/2000/svg", "viewBox": f"0 0 {self.width:g} {self.height:g}",
            "style": f"max-width:{self.width:g}px", "fill": "currentColor",
            # An image hides what is in it; a group lets the reader step through the cells.
            "role": "group" if any("tabindex" in mark for mark in self.marks) else "img", "aria-label": alt}
        return ElementTree.tostring(root, encoding="unicode")


def _rgb(color):
    return tuple(int(color[i:i + 2], 16) / 255 for i in (1, 3, 5))


def _tidy(element, marks):
    """The element of matplotlib's SVG as a list of plain elements: no ids, no groups, no style, ink from the page."""
    tag = element.tag.split("}")[-1]
    if tag in ("metadata", "defs"):
        return []
    inner = [kept for child in element for kept in _tidy(child, marks)]
    if tag == "svg":
        element[:] = inner
        return [element]
    if tag == "g":
        gid = re.fullmatch(r"mark(\d+)", element.get("id", ""))
        for child in inner if gid else ():
            for name, value in marks[int(gid[1])].items():
                _note(child, value) if name == "note" else child.set(name, value)
        return inner

    style = dict(item.split(": ", 1) for item in element.get("style", "").split("; ") if item)
    if "font" in style:  # older versions, like the one in Pyodide, write the size in there
        style["font-size"] = re.search(r"[\d.]+px", style["font"])[0]
    kept = {name: _short(style[name]) for name in (
        "fill", "fill-opacity", "stroke", "stroke-opacity", "stroke-width", "stroke-dasharray",
        "text-anchor", "font-size") if name in style}
    if kept.get("fill") == "none" and "stroke" not in kept:
        kept["pointer-events"] = "all"  # an invisible box is there to be pointed at
    if tag == "path":
        kept["d"] = _short(" ".join(element.get("d").split()))
    else:
        kept |= {name: _short(element.get(name)) for name in ("x", "y", "transform") if name in element.attrib}
        if kept.get("transform", "").startswith("rotate(-0 "):
            del kept["transform"]
    plain = ElementTree.Element(tag, kept)
    plain.text = element.text
    if tag == "text":
        _subscript(plain)
    return [plain]


def _short(text):
    """Coordinates to a tenth of a unit, opacities to a hundredth, ink from the page."""
    def short(match):
        value = float(match[0])
        return f"{value:.2f}".rstrip("0").rstrip(".") if abs(value) < 1 else f"{value:.1f}".removesuffix(".0")
    return re.sub(r"-?\d+\.\d+", short, text).replace(INK, "currentColor").replace("px", "").replace("-0 ", "0 ")


def _note(text, note):
    ElementTree.SubElement(text, "tspan", {"class": "note", "dx": "9"}).text = note


def _subscript(text):
    """W_Q becomes W with Q below the line; what follows a space is on the line again."""
    first, *rest = re.split(r"_(\w+)", text.text)
    text.text = first
    for i in range(0, len(rest), 2):
        ElementTree.SubElement(text, "tspan", {"class": "sub", "dy": "5"}).text = rest[i]
        if rest[i + 1]:
            ElementTree.SubElement(text, "tspan", {"dy": "-5"}).text = rest[i + 1]

"""A canvas with matplotlib's axes on it, for curves and bars. Only the figures that have some import this."""
import io
import re
from xml.etree import ElementTree

from matplotlib import rc_context
from matplotlib.figure import Figure as Sheet

from .canvas import TEXT, Canvas, short, write
from .figure import INK

BLACK = "#000000"  # what matplotlib draws in it becomes the ink of the page
KEPT = ("fill", "fill-opacity", "stroke", "stroke-opacity", "stroke-width", "stroke-dasharray", "text-anchor", "font-size")


class Chart(Canvas):
    def __init__(self, width, height):
        super().__init__(width, height)
        self.sheet = Sheet(figsize=(width / 72, height / 72), dpi=72)
        self.sheet.patch.set_visible(False)

    def plot(self, x, y, width, height, xlabel="", ylabel=""):
        """A pair of axes in the box given, with quiet rules and no ticks."""
        axes = self.sheet.add_axes((x / self.width, 1 - (y + height) / self.height, width / self.width,
                                    height / self.height), facecolor="none")
        axes.spines[:].set_visible(False)
        axes.tick_params(length=0, labelsize=TEXT, pad=5)
        axes.grid(color=BLACK, alpha=0.15)
        axes.set_axisbelow(True)
        axes.set_xlabel(xlabel, size=TEXT)
        axes.set_ylabel(ylabel, size=TEXT)
        return axes

    def figure(self, *args):
        out = io.StringIO()
        with rc_context({"svg.fonttype": "none", "axes.unicode_minus": True, "text.parse_math": False}):
            self.sheet.savefig(out, format="svg")
        root = ElementTree.fromstring(out.getvalue())
        drawn = (element for element in root.iterfind(".//*") if element.tag.endswith(("}path", "}text")))
        self.svg.extend(map(_plain, drawn))
        return super().figure(*args)


def _plain(element):
    """An element of matplotlib's SVG without ids, styles and needless decimals, in the ink of the page."""
    style = dict(item.split(": ", 1) for item in element.get("style", "").split("; ") if item)
    if "font" in style:  # older versions, like the one in Pyodide, write the size in there
        style["font-size"] = re.search(r"[\d.]+px", style["font"])[0]
    kept = {name: style[name] for name in KEPT if name in style}
    kept |= {name: " ".join(element.get(name).split()) for name in ("d", "x", "y", "transform") if name in element.attrib}
    if re.match(r"rotate\(-?0 ", kept.get("transform", "")):
        del kept["transform"]
    plain = ElementTree.Element(element.tag.split("}")[1], {name: _short(value) for name, value in kept.items()})
    if element.text:
        write(plain, element.text)
    return plain


def _short(text):
    """Coordinates to a tenth of a unit, shares to a hundredth, ink from the page."""
    text = re.sub(r"-?\d+\.\d+", lambda match: short(match[0], 2 if abs(float(match[0])) < 1 else 1), text)
    return text.replace(BLACK, INK).replace("px", "")

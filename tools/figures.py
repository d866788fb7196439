"""Export every figure that the chapters store to figures/: SVG and PNG files, in light and dark, and a README.

On a page, a style sheet and the ink of the page decide how a drawing looks. A file has neither, and many programs that
read SVG know little CSS, so here each class becomes plain attributes, and what only shows when it is pointed at goes.
"""
import html
import pathlib
import re
import shutil
from xml.etree import ElementTree

import matplotlib
import nbformat
import resvg_py
from inside_transformer.draw.figure import DIMMED, INK, NAMED, ROLES, SANS, SERIF

ROOT = pathlib.Path(__file__).resolve().parents[1]
FIGURES = ROOT / "figures"
FONTS = [str(pathlib.Path(matplotlib.get_data_path(), "fonts", "ttf", f"DejaVu{face}.ttf"))  # the same on every system
         for face in ("Sans", "Sans-Bold", "Serif-Italic", "Serif-BoldItalic")]
INKS = {"light": "#1c2128", "dark": "#e6e9ed"}
SVG = "http://www.w3.org/2000/svg"
HEAD = """# Figures

Every figure of the book as files for slides, pages and reuse (CC BY 4.0). Take `light` for a light background and
`dark` for a dark one. The ink is fixed and the background is clear, so a figure takes on the color of your slide. For
programs that do not read SVG, `make figures` also draws each file as a PNG beside it, twice as large. Git leaves the
PNG files out, because they can be drawn again at any time.

The figures come from the outputs that the chapters store, so edit the chapter and run `make figures`. Only on the
pages of the book does a matrix light up where you point.
"""
ENTRY = """<picture><source media="(prefers-color-scheme: dark)" srcset="{name}-dark.svg">
<img src="{name}-light.svg" alt="{alt}"></picture>

**Figure {label}** (`{name}-light.svg`, `{name}-dark.svg`). {caption}

Alt text: {alt_text}
"""


def mixed(role, ink):
    """The color of a name: that of its role with some ink in it."""
    pairs = zip(*(bytes.fromhex(color[1:]) for color in (ROLES[role].replace(INK, ink), ink)))
    return "#" + bytes(round((NAMED * color + (100 - NAMED) * rest) / 100) for color, rest in pairs).hex()


def standalone(drawing, ink):
    """The <svg> element of a page as the text of a file that looks the same in this ink and needs nothing else."""
    root = ElementTree.fromstring(drawing.replace("currentColor", ink))
    dim = "dim" in root.get("class").split()
    *_, width, height = root.get("viewBox").split()
    root.attrib = {"viewBox": root.get("viewBox"), "width": width, "height": height, "fill": ink, "font-family": SANS,
                   "role": "img", "aria-label": root.get("aria-label")}
    for part in list(root):
        classes = set(part.get("class", "").split())
        if part.tag == f"{{{SVG}}}style" or "hit" in classes or classes & {"frame", "sum"} and "on" not in classes:
            root.remove(part)
        for element in part.iter():
            classes = set(element.attrib.pop("class", "").split())
            if "name" in classes:
                role = next(iter(classes & ROLES.keys()))
                element.attrib |= {"font-family": SERIF, "font-style": "italic", "fill": mixed(role, ink)}
            if "note" in classes:
                element.attrib |= {"font-family": SANS, "font-style": "normal", "font-weight": "400", "font-size": "14",
                                   "fill": ink}
            if "sub" in classes:  # CairoSVG takes a percentage for one of the whole drawing
                element.set("font-size", f"{0.7 * float(part.get('font-size')):g}")
            if "on" in classes:
                element.set("font-weight", "600")
            elif "num" in classes and dim:
                element.set("opacity", str(DIMMED))
    ElementTree.register_namespace("", SVG)
    return ElementTree.tostring(root, encoding="unicode") + "\n"


def picture(svg):
    """A file of this kind as the bytes of a PNG, at twice its size."""
    return resvg_py.svg_to_bytes(svg, zoom=2, skip_system_fonts=True, font_files=FONTS,
                                 sans_serif_family="DejaVu Sans", serif_family="DejaVu Serif")


def files(chapters=ROOT / "chapters"):
    """What figures/ has to hold: names and contents."""
    out, readme = {}, [HEAD]
    for path in sorted(chapters.glob("*.ipynb")):
        notebook = nbformat.read(path, as_version=4)
        readme.append(f"## {notebook.cells[0].source.splitlines()[0].lstrip('# ')}\n")
        for cell in notebook.cells:
            for output in cell.get("outputs", ()):
                figure = output.get("data", {}).get("text/html", "")
                if not figure.startswith('<figure class="it">'):
                    continue
                chapter, place = re.search(r"<b>Figure (\d+)\.(\d+)\.</b>", figure).groups()
                name = f"{int(chapter):02}-{int(place):02}"
                drawing = re.search(r"<svg.*</svg>", figure, re.DOTALL)[0]
                for ground, ink in INKS.items():
                    out[f"{name}-{ground}.svg"] = standalone(drawing, ink)
                alt = re.search(r'aria-label="([^"]*)" class="it-svg', figure)[1]
                caption = html.unescape(re.search(r"</b> (.*)</figcaption>", figure)[1])
                readme.append(ENTRY.format(name=name, label=f"{chapter}.{place}", caption=caption, alt=alt,
                                           alt_text=html.unescape(alt)))
    out["README.md"] = "\n".join(readme)
    return out


def main():
    shutil.rmtree(FIGURES, ignore_errors=True)
    FIGURES.mkdir()
    for name, content in files().items():
        path = FIGURES / name
        path.write_text(content, encoding="utf-8")
        if path.suffix == ".svg":
            path.with_suffix(".png").write_bytes(picture(content))


if __name__ == "__main__":
    main()

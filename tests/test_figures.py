"""figures/ holds what the chapters store, as files that look as the pages do in any program."""
import io
import re
from functools import cache
from xml.etree import ElementTree

import figures
import numpy as np
import pytest
from book import CHAPTERS, read
from book import figures as drawn
from PIL import Image, ImageColor

GROUNDS = {"light": "#ffffff", "dark": "#14181e"}
each_ground = pytest.mark.parametrize("ground", GROUNDS)


@cache
def exported():
    return figures.files()


@cache
def on_pages():
    """The name of each figure and its drawing, as the pages have it."""
    return {f"{path.name[:2]}-{place:02}": re.search(r"<svg.*</svg>", figure, re.DOTALL)[0]
            for path in CHAPTERS for place, figure in enumerate(drawn(read(path)), start=1)}


def stale(found):
    """Names of files that differ from what the chapters store."""
    wanted = exported()
    return sorted(name for name in wanted.keys() | found.keys() if wanted.get(name) != found.get(name))


def stored():
    return {path.name: path.read_text(encoding="utf-8") for path in figures.FIGURES.iterdir() if path.suffix != ".png"}


def test_no_figure_is_stale():
    assert not stale(stored()), "run `make figures`"


def test_stale_figures_are_found():
    found = stored()
    found["05-04-dark.svg"] = found["05-04-dark.svg"].replace("0.48", "0.49")
    del found["01-01-light.svg"]
    found["99-01-light.svg"] = ""
    assert stale(found) == ["01-01-light.svg", "05-04-dark.svg", "99-01-light.svg"]


def test_every_figure_is_there_in_both_inks():
    assert {name for name in exported() if name != "README.md"} == {
        f"{name}-{ground}.svg" for name in on_pages() for ground in GROUNDS}


# --- nothing is left to the program that shows a file ----------------------------------------------------------------

def needs(svg):
    """What a file leaves to a style sheet, a page, a reader's setting or another file, and whether it lacks a size."""
    root = ElementTree.fromstring(svg)
    names = {element.tag.split("}")[1] for element in root.iter()} - {"svg", "path", "rect", "text", "tspan"}
    names |= {name for element in root.iter() for name in element.attrib} & {"class", "style", "href"}
    names |= set(re.findall(r"var\(|color-mix|currentColor|url\(|@\w+", svg))
    sized = [root.get("width"), root.get("height")] == root.get("viewBox").split()[2:]
    return sorted(names) + ([] if sized else ["a size"])


def test_a_file_needs_nothing():
    assert not {name: found for name, svg in exported().items() if name.endswith("svg") and (found := needs(svg))}


def test_what_a_file_needs_is_found():
    assert needs(on_pages()["05-04"]) == ["class", "color-mix", "currentColor", "style", "var(", "a size"]


# --- a browser shows the file as the page shows the figure -----------------------------------------------------------

# How each piece that can be seen looks. A color may come as rgb(...) or, mixed, as fractions of one.
LOOKS = """svg => [...svg.querySelectorAll('path, text, tspan')].map(piece => {
    const style = getComputedStyle(piece)
    const color = value => (value.match(/[\\d.]+/g) ?? []).map(part => value.startsWith('color(') ? part * 255 : +part)
    const rest = ['fontSize', 'fontFamily', 'fontStyle', 'strokeWidth', 'strokeOpacity', 'fillOpacity',
                  'strokeDasharray', 'textAnchor', ...piece.localName == 'path' ? [] : ['fontWeight']].map(name => style[name])
    return {text: piece.textContent, opacity: style.opacity, stroke: color(style.stroke), fill: color(style.fill), rest}
}).filter(piece => piece.opacity > 0 && (piece.text || piece.fill.length || piece.stroke.length))"""
OUTSIDE = """svg => { const box = svg.getBBox(), room = svg.viewBox.baseVal
    return Math.max(-box.x, -box.y, box.x + box.width - room.width, box.y + box.height - room.height) }"""


def looks(browser, drawings, ink, script=LOOKS):
    page = browser.new_page()
    page.set_content(f"<body style='color:{ink}'>{''.join(drawings)}")
    found = [page.evaluate(f"place => ({script})(document.querySelectorAll('svg')[place])", place)
             for place in range(len(drawings))]
    page.close()
    return found


def differ(one, other):
    """Whether two drawings look different: colors may differ by the rounding of a mixture."""
    if len(one) != len(other):
        return True
    near = all(len(a[name]) == len(b[name]) and np.allclose(a[name], b[name], atol=0.6)
               for a, b in zip(one, other) for name in ("fill", "stroke"))
    return not near or any(a[name] != b[name] for a, b in zip(one, other) for name in ("text", "opacity", "rest"))


@each_ground
def test_a_file_looks_as_the_figure_does_on_a_page(browser, ground):
    ink = figures.INKS[ground]
    pages = looks(browser, on_pages().values(), ink)
    files = looks(browser, [exported()[f"{name}-{ground}.svg"] for name in on_pages()], "#777777")
    assert not [name for name, one, other in zip(on_pages(), pages, files) if differ(one, other)]
    assert differ(pages[0], pages[1]) and differ(pages[0], looks(browser, [*on_pages().values()][:1], "#777777")[0])


def test_no_file_cuts_its_figure_off(browser):
    names = [name for name in exported() if name.endswith("light.svg")]
    outside = looks(browser, [exported()[name] for name in names], "#000000", OUTSIDE)
    assert not {name: far for name, far in zip(names, outside) if far > 2}


# --- programs that are no browsers show its numbers and its colors ---------------------------------------------------

def cairo(svg):
    try:
        import cairosvg
    except OSError:
        pytest.skip("CairoSVG finds no cairo on this machine")
    return cairosvg.svg2png(svg.encode(), scale=2)


each_program = pytest.mark.parametrize("render", [figures.picture, cairo], ids=["resvg", "cairo"])


def pixels(png, ground):
    """A picture, shape (height, width, 3), on this ground."""
    picture = Image.open(io.BytesIO(png)).convert("RGBA")
    paper = Image.new("RGBA", picture.size, GROUNDS[ground])
    return np.asarray(Image.alpha_composite(paper, picture).convert("RGB")).astype(int)


def unseen(svg, ground, render):
    """What a program does not show of a matrix: the ink of a number, the fill of a cell, the color of a name."""
    drawing, rgb = ElementTree.fromstring(svg), ImageColor.getrgb
    ink, paper = rgb(figures.INKS[ground]), rgb(GROUNDS[ground])
    image, missing = pixels(render(svg), ground), []
    wide, high = (round(2 * float(size)) for size in drawing.get("viewBox").split()[2:])
    if abs(image.shape[1] - wide) > 2 or abs(image.shape[0] - high) > 2:
        return [f"the size: {image.shape[1]} by {image.shape[0]}"]

    def has(color, x, y, width, height, near):
        part = image[round(2 * y):round(2 * (y + height)), round(2 * x):round(2 * (x + width))]
        return (np.abs(part - color).max(axis=-1) <= near).any()

    for text in drawing.iter(f"{{{figures.SVG}}}text"):
        x, y, said = float(text.get("x")), float(text.get("y")), "".join(text.itertext())
        if re.fullmatch(r"−?[\d.]+", said) and not has(ink, x - 16, y - 12, 32, 12, near=60):
            missing.append(f"ink of {said}")
        if text.get("font-style") == "italic" and not has(rgb(text.get("fill")), x, y - 16, 16, 18, near=40):
            missing.append(f"color of {said}")
    for cell in drawing.iter(f"{{{figures.SVG}}}rect"):
        if strength := float(cell.get("fill-opacity", 0)):
            x, y, fill = float(cell.get("x")), float(cell.get("y")), rgb(cell.get("fill"))
            color = strength * np.array(fill) + (1 - strength) * np.array(paper)
            if not has(color, x + 3, y + 3, 3, 3, near=3):
                missing.append(f"fill {cell.get('fill')}")
    return missing


@each_ground
@each_program
@pytest.mark.parametrize("name", ["05-04", "04-02"])
def test_a_program_shows_a_matrix(render, name, ground):
    assert not unseen(exported()[f"{name}-{ground}.svg"], ground, render)


@each_program
def test_what_a_program_does_not_show_is_found(render):
    """Such as the drawing of the page itself, or a file in which something is missing."""
    svg = exported()["05-04-dark.svg"]

    def missing(broken):
        return "\n".join(unseen(svg, "dark", lambda _: render(broken)))
    assert "color of V" in missing(on_pages()["05-04"]) or "the size" in missing(on_pages()["05-04"])
    assert missing(exported()["05-04-light.svg"]).count("ink of") > 50
    assert "fill #1fa37a" in missing(svg.replace('fill="#1fa37a"', 'fill="none"'))
    assert "color of V" in missing(svg.replace(figures.mixed("V", figures.INKS["dark"]), "#000000"))
    assert "the size" in missing(svg.replace('width="', 'width="1', 1))

"""Export every figure that the chapters store to figures/, with a README of captions and alt texts."""
import html
import pathlib
import re
import shutil

import nbformat

ROOT = pathlib.Path(__file__).resolve().parents[1]
FIGURES = ROOT / "figures"
HEAD = """# Figures

Every figure of the book as an SVG file, for slides, pages and reuse (CC BY 4.0). `make figures` takes them from the outputs that the
chapters store; edit the chapter, not the file. A file takes its ink from the reader's light or dark setting. Opened in a browser,
a matrix lights up where you point.
"""


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
                name = f"{int(chapter):02}-{int(place):02}.svg"
                out[name] = re.search(r"<svg.*</svg>", figure, re.DOTALL)[0] + "\n"
                alt = html.unescape(re.search(r'aria-label="([^"]*)" class="it-svg', figure)[1])
                caption = html.unescape(re.search(r"</b> (.*)</figcaption>", figure)[1])
                readme.append(f"![{alt}]({name})\n\n**Figure {chapter}.{place}** (`{name}`). {caption}\n\nAlt text: {alt}\n")
    out["README.md"] = "\n".join(readme)
    return out


def main():
    shutil.rmtree(FIGURES, ignore_errors=True)
    FIGURES.mkdir()
    for name, content in files().items():
        (FIGURES / name).write_text(content, encoding="utf-8")


if __name__ == "__main__":
    main()

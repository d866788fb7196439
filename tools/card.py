"""Draw the picture that a link to the book shows elsewhere, _static/card.png, from a figure of the book."""
import pathlib
import sys

from pdf import CHROMIUM
from playwright.sync_api import sync_playwright

ROOT = pathlib.Path(__file__).resolve().parents[1]
CARD = ROOT / "_static" / "card.png"
FIGURE = ROOT / "figures" / "05-04-light.svg"  # the one of the front page
SIZE = {"width": 1200, "height": 630}
PAGE = """<!doctype html><style>
body {{ align-items: center; background: #fff; box-sizing: border-box; color: #1c2128; display: grid; gap: 2rem;
       font-family: system-ui, "DejaVu Sans", sans-serif; grid-template-columns: 1fr 33rem; height: 100vh; margin: 0;
       padding: 0 3.5rem }}
h1 {{ font-size: 4.25rem; line-height: 1.1; margin: 0 0 1.5rem }}
p {{ font-size: 1.7rem; line-height: 1.4; margin: 0 }}
svg {{ height: auto; width: 100% }}
</style>
<main><h1>Inside the Transformer</h1>
<p>A book of executable chapters, from the dot product to the block of today</p></main>{}"""


def main():
    if not CHROMIUM:
        sys.exit("The card is drawn by Chromium, and none is installed. Debian: apt-get install chromium")
    with sync_playwright() as p:
        page = p.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"]).new_page(viewport=SIZE)
        page.set_content(PAGE.format(FIGURE.read_text(encoding="utf-8")))
        page.screenshot(path=CARD)
    print(CARD)


if __name__ == "__main__":
    main()

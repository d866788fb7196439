"""What a drawing function returns: a picture for the page, and the same numbers as text."""
import html
import re

INK = "currentColor"  # the page decides
ROLES = {
    "X": "#7a869a",
    "Q": "#e08a00",
    "K": "#2f7fd1",
    "V": "#1fa37a",
    "A": "#9a5bd0",  # scores and weights
    "output": "#d2527a",
    "W": INK,        # learned matrices
}

# A drawing in a file of its own has no page to take its ink from: svg:root brings one.
# What is pointed at is full and bold, the rest steps back, but stays readable on any fill (tests compute the contrast).
POINTED = ":is(:hover,:focus-visible)"
LIT = "{opacity:1;font-weight:600}"
STYLE = "".join(f".it-svg .{role}{{--role:{color}}}" for role, color in ROLES.items()) + f"""
figure.it{{margin:0}}
svg:root{{color:#1c2128}}
@media (prefers-color-scheme:dark){{svg:root{{color:#e6e9ed}}}}
.it-svg{{display:block;width:100%;height:auto;overflow:visible;font-family:system-ui,'Segoe UI',Roboto,'DejaVu Sans',sans-serif}}
.it-svg text{{pointer-events:none}}
.it-svg .name{{font-family:Georgia,'Times New Roman','DejaVu Serif',serif;font-style:italic;fill:color-mix(in srgb,var(--role) 60%,currentColor)}}
.it-svg .note{{font:14px system-ui,'Segoe UI',Roboto,'DejaVu Sans',sans-serif;fill:currentColor}}
.it-svg .sub{{font-size:70%}}
.it-svg .hit{{cursor:crosshair;outline:none}}
.it-svg .frame,.it-svg .sum{{opacity:0}}
.it-svg.dim .num{{opacity:.85}}
.it-svg.dim .on{LIT}
.it-svg:has(.hit{POINTED}) .num{{opacity:.85;font-weight:400}}
.it-svg:has(.hit{POINTED}) :is(.frame,.sum){{opacity:0}}
.it-svg .hit{POINTED}{{stroke:var(--role);stroke-width:3}}
.it-svg .hit{POINTED}+.num,.it-svg .hit{POINTED}+.num+.sum,.it-svg .hit{POINTED}+.num+.sum+.sum{LIT}
"""


class Figure:
    """A figure. Its HTML is the drawing with its caption; its plain text is the numbers that were drawn.

    svg: an <svg> element. label: "5.7". alt: what it shows, in words. text: its numbers, as lines.
    kind, links: pointing at the first selector of a pair lights the second, in figures of this kind.
    """

    def __init__(self, svg, label, caption, alt, text, kind="", links=()):
        if not isinstance(label, str) or not re.fullmatch(r"\d+\.\d+", label):
            raise ValueError(f"label needs the form chapter.number, got {label!r}")
        if not isinstance(caption, str) or not caption.strip():
            raise ValueError(f"caption of figure {label} is empty: say what to notice")
        self.label, self.caption, self.alt, self.text = label, caption, alt, text
        rules = ",".join(f".it-svg.{kind}:has(.hit{a}{POINTED}) {b}" for a, b in links)
        dim = "dim" if re.search(r'class="[^"]*\bon\b', svg) else ""
        style = STYLE + (rules + LIT if rules else "")
        classes = " ".join(filter(None, ("it-svg", kind, dim)))
        self.svg = svg.replace(">", f' class="{classes}"><style>{style}</style>', 1)

    def _repr_html_(self):
        name = f"Figure {self.label}"
        return (f'<figure class="it">{self.svg}\n'
                f"<figcaption><b>{name}.</b> {html.escape(self.caption, quote=False)}</figcaption>\n"
                f"<details><summary>{name} as text</summary>"
                f'<pre tabindex="0">{html.escape(self.text, quote=False)}</pre></details></figure>')

    def __repr__(self):
        return f"Figure {self.label}. {self.alt}\n{self.text}"

"""Typeset formulas as MathML while the page is built: no script, no font, nothing that moves when the page loads."""

import re
from xml.etree import ElementTree

from docutils import nodes
from latex2mathml.converter import convert
from sphinx.util import logging
from sphinx.util.math import get_node_equation_number

logger = logging.getLogger(__name__)

# latex2mathml passes on what it does not know instead of failing: \commands, stray & and $, and \\ outside a table.
NOT_TYPESET = re.compile(r"\\|\$|&(?!#)|linebreak=")

# A minus after another operator is a sign, as in [2, -1]; without a word for it, browsers set it as a difference.
SIGN = re.compile(r"(<mo[^>]*>(?!\]|\||&#x0(?:0029|007D);)[^<]*</mo>)<mo>(?=&#x02212;)")

# How many parts these elements have; latex2mathml leaves out what the formula forgot.
PARTS = {"mfrac": 2, "mroot": 2, "msub": 2, "msup": 2, "msubsup": 3}


def complete(latex, mathml):
    """Whether every brace is closed and every fraction, root and index has all its parts."""
    bare = re.sub(r"\\.", "", latex)
    return bare.count("{") == bare.count("}") and all(
        len(element) == PARTS.get(element.tag.rpartition("}")[2], len(element))
        for element in ElementTree.fromstring(mathml).iter())


def typeset(latex, display):
    return SIGN.sub(r'\1<mo form="prefix">', convert(latex, display=display))


def to_mathml(node, display):
    latex = node.astext()
    try:
        mathml = typeset(latex, display)
    except Exception as error:  # its errors share no other base class
        logger.warning("formula %r: %s", latex, type(error).__name__, location=node)
        return ""
    if NOT_TYPESET.search(mathml) or not complete(latex, mathml):
        logger.warning("formula %r has a part that latex2mathml cannot typeset", latex, location=node)
    return mathml


def visit_math(self, node):
    self.body.append(to_mathml(node, "inline"))
    raise nodes.SkipNode


def visit_math_block(self, node):
    # By this class, the theme lets a wide formula scroll and makes it reachable by keyboard.
    self.body.append(self.starttag(node, "div", CLASS="math pst-scrollable-table-container"))
    self.body.append(to_mathml(node, "block"))
    if node["number"]:
        self.body.append(f'<span class="eqno">({get_node_equation_number(self, node)})</span>')
    self.body.append("</div>\n")
    raise nodes.SkipNode


def setup(app):
    app.add_html_math_renderer("mathml", (visit_math, None), (visit_math_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}

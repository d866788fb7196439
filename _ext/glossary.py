"""Lead from the first use of a term to its entry in the glossary, in each chapter that the entry names.

The links are made while the page is built, so that the notebooks read the same everywhere else.
"""
import re

from docutils import nodes
from sphinx import addnodes
from sphinx.util.nodes import make_refnode

PAGE = "glossary"


def entries(env, docname):
    """The terms whose entries name this page, longest first, each with the id and the explanation of its entry."""
    found = []
    for entry in env.get_doctree(PAGE).findall(nodes.definition_list_item):
        explanation, *chapters = entry[-1]
        if any(link["reftarget"] == docname for part in chapters for link in part.findall(addnodes.pending_xref)):
            found += [(term.astext(), term["ids"][0], explanation.astext()) for term in entry.findall(nodes.term)]
    return sorted(found, key=lambda entry: -len(entry[0]))


def first_use(doctree, word):
    """The text in which a term is bold, or else the first that has it in a sentence, below the head of the chapter."""
    sections = [part for part in doctree[0].children if isinstance(part, nodes.section)]
    sections.sort(key=lambda section: section[0].astext() in ("Quiz", "Exercises"))  # they come after the text
    texts = [text for section in sections for paragraph in section.findall(nodes.paragraph) for text in paragraph.findall(nodes.Text)]
    bold = (text for text in texts if isinstance(text.parent, nodes.strong) and word.fullmatch(text))
    plain = (text for text in texts if isinstance(text.parent, nodes.paragraph) and word.search(text))
    return next(bold, None) or next(plain, None)


def link_terms(app, doctree, docname):
    if PAGE not in app.env.all_docs:
        return
    for term, name, explanation in entries(app.env, docname):
        word = re.compile(rf"(?<![\w-]){re.escape(term)}s?(?![\w-])", re.IGNORECASE)
        if text := first_use(doctree, word):
            use = word.search(text)
            link = make_refnode(app.builder, docname, PAGE, name, nodes.Text(use[0]), explanation)
            text.parent.replace(text, [nodes.Text(text[:use.start()]), link, nodes.Text(text[use.end():])])


def setup(app):
    app.connect("doctree-resolved", link_terms)
    return {"parallel_read_safe": True, "parallel_write_safe": True}

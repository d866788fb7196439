"""Give each code cell of a page an id, cell-7 by its place in the notebook, and let links from Markdown find it.

The folds of a solution and of an answer say what is in them, to the eye and to the ear.
"""
from docutils import nodes

FOLDS = {"tag_solution": "the solution", "tag_hide-output": "the output", "tag_hide-input": "the code of the figure"}


def prepare_cells(app, doctree):
    # Here MyST looks up where a link to a part of another page leads.
    targets = app.env.metadata[app.env.docname].setdefault("myst_slugs", {})
    for cell in doctree.findall(nodes.container):
        if cell.get("nb_element") == "cell_code":
            name = f"cell-{cell['cell_index']}"
            cell["ids"].append(name)
            targets[name] = (cell.line, name, name)
            for tag in FOLDS.keys() & cell["classes"]:
                cell["prompt_show"], cell["prompt_hide"] = f"Show {FOLDS[tag]}", f"Hide {FOLDS[tag]}"


def name_folds(app, pagename, templatename, context, doctree):
    """Let a screen reader read what a fold says, where MyST-NB has it call every fold the same."""
    context["body"] = context.get("body", "").replace('<summary aria-label="Toggle hidden content">', "<summary>")


def setup(app):
    app.connect("doctree-read", prepare_cells)
    app.connect("html-page-context", name_folds)
    return {"parallel_read_safe": True, "parallel_write_safe": True}

"""Give each code cell of a page an id, cell-7 by its place in the notebook, and let links from Markdown find it."""
from docutils import nodes


def add_ids(app, doctree):
    # Here MyST looks up where a link to a part of another page leads.
    targets = app.env.metadata[app.env.docname].setdefault("myst_slugs", {})
    for cell in doctree.findall(nodes.container):
        if cell.get("nb_element") == "cell_code":
            name = f"cell-{cell['cell_index']}"
            cell["ids"].append(name)
            targets[name] = (cell.line, name, name)


def setup(app):
    app.connect("doctree-read", add_ids)
    return {"parallel_read_safe": True, "parallel_write_safe": True}

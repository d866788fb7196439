"""Load the scripts in the head of a page after its text."""


def defer(app, pagename, templatename, context, doctree):
    for script in context["script_files"]:
        # A script that stands in the page itself waits for those before it only if it is a module.
        name, value = ("defer", "defer") if script.filename else ("type", "module")
        # The pages share these objects, and the search page runs scripts of its own at once that need them.
        script.attributes.pop(name, None)
        if pagename != "search":
            script.attributes[name] = value


def setup(app):
    app.connect("html-page-context", defer, priority=900)  # after the themes have added theirs
    return {"parallel_read_safe": True, "parallel_write_safe": True}

"""Load the scripts in the head of a page after its text."""


def defer(app, pagename, templatename, context, doctree):
    for script in context["script_files"]:
        # The pages share these objects, and the search page runs scripts of its own at once that need them.
        script.attributes.pop("defer", None)
        # The options are read by a script in the page itself, which cannot be deferred.
        if pagename != "search" and script.filename != "_static/documentation_options.js":
            script.attributes["defer"] = "defer"


def setup(app):
    app.connect("html-page-context", defer, priority=900)  # after the themes have added theirs
    return {"parallel_read_safe": True, "parallel_write_safe": True}

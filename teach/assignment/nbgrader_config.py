"""The course folder of nbgrader. Its commands are run here."""
c = get_config()  # noqa: F821  nbgrader hands it in

c.CourseDirectory.course_id = "inside_transformer"
c.ClearSolutions.code_stub = {"python": "..."}  # as in the exercises of the book
c.Execute.timeout = 60  # seconds a cell: an endless loop ends

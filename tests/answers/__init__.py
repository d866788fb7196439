"""Answers to the exercises, a file a chapter: right in another form than the solution, and wrong, with the diagnosis."""

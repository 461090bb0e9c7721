"""Applies resources that are declared elsewhere: in a Git repository, at a URL, in a queue.

A `ResourceInput` (`api.py`) names an input plugin (`plugins/`), which reads the declarations. Writing is the same for
all plugins (`writer.py`). A `Source` reads all declarations at once (`operator.py`, `decide.py`), a `Feed` delivers one
after the other (`feeds.py`).
"""

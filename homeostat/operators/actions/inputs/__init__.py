"""Ways for resources to come in: from a Git repository, from a URL, from a queue.

A `ResourceInput` (`api.py`) names an input plugin (`plugin.py`), which says what is declared elsewhere. One part makes
it so here, for all of them: a `Source` declares everything at once (`operator.py`, `decide.py`), a `Feed` one thing
after the other (`feeds.py`); both write by `writer.py`.
"""

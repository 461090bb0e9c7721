"""Input plugins: the protocol that they have (`plugin.py`), ours, and how declarations are read."""

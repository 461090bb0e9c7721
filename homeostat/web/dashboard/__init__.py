"""The dashboard: Home, the objects of every kind, and the sections of operators. `dashboard.py` assembles it."""

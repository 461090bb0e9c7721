"""The dashboard: what is declared, how it stands and what was done, as pages. `dashboard.py` puts it together."""

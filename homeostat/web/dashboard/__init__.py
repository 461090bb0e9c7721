"""The dashboard: pages that show resources, their status and history, and policies. `dashboard.py` assembles it."""

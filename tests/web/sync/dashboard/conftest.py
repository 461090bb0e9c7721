"""The fixtures of the dashboard."""

from __future__ import annotations

from tests.web.dashboard.conftest import guarded, plane, site, tab, troubles

__all__ = ["guarded", "plane", "site", "tab", "troubles"]

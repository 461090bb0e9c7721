"""The path of the dashboard, and the cookie of its sessions."""

from __future__ import annotations

from typing import Final

from homeostat.web.kit.sessions.cookie import SessionCookie

ROOT: Final = "/dashboard"
COOKIE: Final = SessionCookie(ROOT, "homeostat_dashboard", b"homeostat dashboard forms")

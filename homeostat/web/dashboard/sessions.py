"""The path of the dashboard, and its sessions."""

from __future__ import annotations

from typing import Final

from homeostat.web.kit.session import Sessions

ROOT: Final = "/dashboard"
SESSIONS: Final = Sessions(ROOT, "homeostat_dashboard", b"homeostat dashboard forms")

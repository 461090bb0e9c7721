"""How pages are added to this API, and the table of those that were: what is served, and what is told about it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Final

from homeostat.edge.request import Request
from homeostat.edge.service import Answer

API: Final = "/api/v1"
"""Below which programs are answered."""
Page = Callable[[Request, Mapping[str, str]], Awaitable[Answer]]
Add = Callable[[str, str, Page], None]
"""Takes a method, a pattern as in `edge/routes.py`, and who answers; refusals may be raised."""
AddRoutes = Callable[[Add], None]
Route = tuple[str, str]
"""Method and pattern."""

"""One request for a page: what is requested, and by whom."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping

import msgspec

from homeostat.edge.request import Request
from homeostat.web.dashboard.html.layout import Page, Viewer
from homeostat.web.kit.gate import Caller


class Visit(msgspec.Struct, frozen=True):
    request: Request
    captured: Mapping[str, str]
    caller: Caller
    viewer: Viewer


View = Callable[[Visit], Awaitable[Page]]

"""One request for a page: what is requested, and by whom."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from urllib.parse import parse_qsl

import msgspec

from homeostat.client.base import Client
from homeostat.edge.request import Request
from homeostat.web.dashboard.html.layout import Page, Viewer
from homeostat.web.kit.gate import Caller


class Visit(msgspec.Struct, frozen=True):
    request: Request
    captured: Mapping[str, str]
    caller: Caller
    viewer: Viewer

    @property
    def namespace(self) -> str:
        """The one that the visitor chose; empty for all."""
        return dict(parse_qsl(self.request.query)).get("namespace", "")

    def client(self, own: Client) -> Client:
        """A client with the permissions of the visitor; `own` is the client of this server. `RefusalError` 403 for a
        visitor who has none in the Kubernetes API.
        """
        return self.caller.client(own)


View = Callable[[Visit], Awaitable[Page]]

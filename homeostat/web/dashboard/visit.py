"""One request for a page: what is requested, and by whom."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from urllib.parse import parse_qsl

import msgspec

from homeostat.client.base import Client
from homeostat.edge.request import Request
from homeostat.objects.kind import Kind
from homeostat.web.dashboard.html.layout import Page, Viewer
from homeostat.web.kit.gate import Caller, Question

Scope = frozenset[str] | None
"""Namespaces; None for all."""


class Visit(msgspec.Struct, frozen=True):
    request: Request
    captured: Mapping[str, str]
    caller: Caller
    viewer: Viewer
    reachable: tuple[str, ...] = ()
    """Of a visitor who does not see every section in all namespaces: those where there may be something to see."""
    scope: Scope = None
    """The namespaces whose objects this page may show, of a section that the visitor does not see in all."""

    @property
    def namespace(self) -> str:
        """The one that the visitor chose; empty for all."""
        return dict(parse_qsl(self.request.query)).get("namespace", "")

    def sees(self, namespace: str) -> bool:
        """Whether the page may show objects of the namespace; that of a cluster-scoped object is empty."""
        return is_in(self.scope, namespace)

    async def listable(self, kind: Kind) -> Scope:
        """The namespaces of `scope` in which the visitor may list objects of the kind."""
        question = Question(kind.group, kind.plural, "list")
        if self.scope is None:
            return None if await self.caller.allows(question) else frozenset()
        places = [question._replace(namespace=each) for each in sorted(self.scope)]
        return frozenset([each.namespace for each in places if await self.caller.allows(each)])

    def client(self, own: Client) -> Client:
        """A client with the permissions of the visitor; `own` is the client of this server. `RefusalError` 403 for a
        visitor who has none in the Kubernetes API.
        """
        return self.caller.client(own)


def is_in(scope: Scope, namespace: str) -> bool:
    return scope is None or namespace in scope


View = Callable[[Visit], Awaitable[Page]]

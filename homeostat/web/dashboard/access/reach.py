"""Where a visitor may see something who does not see everything, and the namespace that this visitor chose last.

The dashboard knows such namespaces from the address, from a cookie, and from RoleBindings (`bindings.py`). None of that
allows anything: each section asks the server about each namespace.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Final
from urllib.parse import parse_qsl

from homeostat.client.base import Client
from homeostat.edge.request import Request
from homeostat.objects.kind import NAMESPACE
from homeostat.web.dashboard.access.bindings import Bindings
from homeostat.web.dashboard.html.paging import place
from homeostat.web.dashboard.objects.access import may_list
from homeostat.web.dashboard.objects.kinds import HERE as OBJECTS
from homeostat.web.dashboard.root import ROOT
from homeostat.web.dashboard.section import Section
from homeostat.web.dashboard.visit import Scope, Visit
from homeostat.web.kit.gate import Caller

MOST: Final = 20
"""Each is asked about with several reviews."""
_COOKIE: Final = "homeostat_namespace"
_LIFE_S: Final = 365 * 24 * 3600
_LISTS: Final = (OBJECTS, f"{OBJECTS}/{{group}}/{{plural}}")
_is_namespace = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?").fullmatch


class Reach:
    """`client` is the one of this server."""

    def __init__(self, client: Client, sections: Sequence[Section], within: str = "") -> None:
        self._client, self._within = client, within
        self._sections = [each for each in sections if each.local_questions]
        self.bindings = Bindings(client, within)

    async def of(self, caller: Caller, request: Request, captured: Mapping[str, str]) -> tuple[str, ...]:
        """At most `MOST`, those first that the request names; empty for who sees everything."""
        if caller.is_admin or not caller.is_cluster_user:
            return ()
        if all([await each.is_visible(caller) for each in self._sections]):
            return ()
        asked = (captured.get("namespace", ""), dict(parse_qsl(request.query)).get("namespace", ""), _last(request))
        known = dict.fromkeys(each for each in (*asked, *await self._bound(caller)) if _is_namespace(each))
        return tuple(sorted(list(known)[:MOST]))

    async def confirmed(self, caller: Caller, reachable: Sequence[str], scopes: Iterable[Scope]) -> tuple[str, ...]:
        """Without those that only the request names, and in which the visitor sees no section: a typing error is
        neither offered nor remembered.
        """
        if not reachable:
            return ()
        known = {*await self._bound(caller)}.union(*(each or () for each in scopes))
        return tuple(each for each in reachable if each in known)

    async def _bound(self, caller: Caller) -> list[str]:
        return [self._within] if self._within else await self.bindings.namespaces_of(caller)

    async def narrowed(self, visit: Visit, path: str) -> str:
        """The same list of objects in the namespace that the visitor chose last, or in the only one; empty for who may
        choose, and where the address says it.
        """
        query = dict(parse_qsl(visit.request.query, keep_blank_values=True))
        if path not in _LISTS or "namespace" in query or not visit.reachable:
            return ""
        if await may_list(visit.client(self._client), NAMESPACE):
            return ""
        last = _last(visit.request)
        chosen = last if last in visit.reachable else (visit.reachable[0] if len(visit.reachable) == 1 else "")
        return place(visit.request.path, {**query, "namespace": chosen}) if chosen else ""


def keeping(visit: Visit) -> list[tuple[str, str]]:
    """The header that remembers the namespace which was chosen."""
    chosen = visit.namespace
    if chosen not in visit.reachable or chosen == _last(visit.request):
        return []
    secure = "; Secure" if visit.request.peer.is_tls else ""
    kept = f"{_COOKIE}={chosen}; Path={ROOT}; Max-Age={_LIFE_S}; HttpOnly; SameSite=Strict{secure}"
    return [("Set-Cookie", kept)]


def _last(request: Request) -> str:
    for each in request.headers.get("cookie", "").split(";"):
        name, _, value = each.strip().partition("=")
        if name == _COOKIE and _is_namespace(value):
            return value
    return ""

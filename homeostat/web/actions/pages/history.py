"""`/resources/{id}/history`: the reconciliations of a resource, newest first, also of a deleted resource.

Entries are fetched by name. The names of a live resource's entries are known; those of a deleted one are found by its
number. So at most one page of entries is in memory.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence

import msgspec

from homeostat.edge.reply import Reply
from homeostat.edge.request import Request
from homeostat.objects.declared import Metadata
from homeostat.objects.errors import NotFoundError
from homeostat.objects.json import encode
from homeostat.operators.actions.api import ID, RECONCILIATION, Reconciliation, Resource
from homeostat.operators.actions.runs.history import entry_name
from homeostat.web.actions.bodies import history_body
from homeostat.web.actions.face import Face, check_right
from homeostat.web.actions.forms import LARGEST_PAGE, HistoryQuery
from homeostat.web.actions.index.lookup import Found, find_numbered
from homeostat.web.kit.form import read_number, read_query
from homeostat.web.kit.gate import Caller
from homeostat.web.kit.pages import next_page
from homeostat.web.kit.refusal import RefusalError

_KIND = RECONCILIATION.kind
_AT_ONCE = 10
_NAMES_A_PAGE = 1000
_NAMES_ONLY = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
_one = msgspec.json.Decoder(Reconciliation)


class _Named(msgspec.Struct, frozen=True):
    name: str


class _Entry(msgspec.Struct, frozen=True):
    metadata: _Named


class _Page(msgspec.Struct, frozen=True):
    token: str = msgspec.field(name="continue", default="")


class _Names(msgspec.Struct, frozen=True):
    metadata: _Page
    items: list[_Entry] | None
    """null if there are none, as kube-apiserver sends it."""


_names = msgspec.json.Decoder(_Names)


class History:
    def __init__(self, face: Face) -> None:
        self._face = face

    async def show(self, request: Request, captured: Mapping[str, str]) -> Reply:
        caller, query = await self._face.identify(request), read_query(request, HistoryQuery)
        number, limit = read_number(captured, "id"), min(query.limit, LARGEST_PAGE)
        entries = await self.read(caller, number, limit + 1, before=query.after)
        headers = next_page(request, _count(entries[limit - 1].metadata.name)) if len(entries) > limit else ()
        page = [history_body(each.metadata.name, each.spec, resource_id=number) for each in entries[:limit]]
        return Reply(200, encode(page), headers=headers)

    async def read(self, caller: Caller, number: int, limit: int, *, before: int = 0) -> list[Reconciliation]:
        """Returns the newest entries, with `before` those before that number. Raises `RefusalError`: 404 if there is
        neither a resource nor history, 403 if the caller is not allowed to read it.
        """
        try:
            found = await find_numbered(self._face, caller, number, "READ")
        except RefusalError as error:
            names = await self._names(number) if error.status == 404 else []
            if not (newest := await self._first(names, 1)):
                raise
            await check_right(caller, newest[0].spec.resource_kind, newest[0].spec.resource_version, "READ")
            return await self._first([each for each in names if not before or _count(each) < before], limit)
        return (await self._recorded(found, limit, before))[:limit]

    async def last_of_gone(self, number: int) -> Reconciliation | None:
        """Returns the newest entry of a deleted resource."""
        return next(iter(await self._first(await self._names(number), 1)), None)

    async def _recorded(self, found: Found, limit: int, before: int) -> list[Reconciliation]:
        metadata = found.entry.metadata
        resource = Resource(metadata=Metadata(metadata.name, metadata.namespace, metadata.uid))
        # Entry and count are written one after the other: there may be one entry more or less than counted.
        newest = found.entry.read_status().reconciliations + 1
        entries: list[Reconciliation] = []
        for start in range(min(newest, before - 1) if before else newest, 0, -_AT_ONCE):
            numbers = range(start, max(start - _AT_ONCE, 0), -1)
            found_ones = await self._entries(entry_name(resource, each) for each in numbers)
            entries += found_ones
            if len(entries) >= limit or not found_ones:
                break
        return entries

    async def _first(self, names: Sequence[str], limit: int) -> list[Reconciliation]:
        """Returns the first `limit` entries that still exist."""
        entries: list[Reconciliation] = []
        step = min(limit, _AT_ONCE)
        for start in range(0, len(names), step):
            entries += await self._entries(names[start : start + step])
            if len(entries) >= limit:
                break
        return entries[:limit]

    async def _names(self, number: int) -> list[str]:
        """Returns the names of all entries of a deleted resource, newest first."""
        names: list[str] = []
        query = {"labelSelector": f"{ID}={number}", "limit": _NAMES_A_PAGE, "continue": ""}
        while True:
            path = _KIND.path(self._face.namespace)
            page = _names.decode(await self._face.client.fetch("GET", path, query, accept=_NAMES_ONLY))
            names += [each.metadata.name for each in page.items or ()]
            if not page.metadata.token:
                return sorted(names, key=_count, reverse=True)
            query["continue"] = page.metadata.token

    async def _entries(self, names: Iterable[str]) -> list[Reconciliation]:
        """Fetches a few entries; those that do not exist are skipped."""
        found = await asyncio.gather(*map(self._entry, names))
        return [each for each in found if each is not None]

    async def _entry(self, name: str) -> Reconciliation | None:
        try:
            return _one.decode(await self._face.client.fetch("GET", _KIND.path(self._face.namespace, name)))
        except NotFoundError:
            return None


def _count(entry: str) -> int:
    number = entry.rpartition("-")[2]
    return int(number) if number.isdecimal() else 0

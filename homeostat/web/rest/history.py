"""`/resources/{id}/history`: what was done for a resource, the newest first, also when the resource is gone.

The record of a resource that is there is asked for by the names of its entries, which are known; of one that is gone,
by the number that it had.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

import msgspec

from homeostat.edge.reply import Reply
from homeostat.edge.request import Request
from homeostat.objects.declared import Metadata
from homeostat.objects.errors import NotFoundError
from homeostat.objects.json import encode
from homeostat.operators.actions.api import ID, RECONCILIATION, Reconciliation, Resource
from homeostat.operators.actions.history import entry_name
from homeostat.web.form import read_number, read_query
from homeostat.web.pages import next_page
from homeostat.web.rest.bodies import history_body
from homeostat.web.rest.face import Face, check_right
from homeostat.web.rest.forms import LARGEST_PAGE, HistoryQuery
from homeostat.web.rest.gate import Caller
from homeostat.web.rest.lookup import Found, find_numbered
from homeostat.web.rest.refusal import RefusalError

_KIND = RECONCILIATION.kind
_AT_ONCE = 10
_one = msgspec.json.Decoder(Reconciliation)


class _List(msgspec.Struct, frozen=True):
    items: list[Reconciliation]


_list = msgspec.json.Decoder(_List)


class History:
    def __init__(self, face: Face) -> None:
        self._face = face

    async def show(self, request: Request, captured: Mapping[str, str]) -> Reply:
        caller, query = await self._face.identify(request), read_query(request, HistoryQuery)
        number, limit = read_number(captured, "id"), min(query.limit, LARGEST_PAGE)
        entries = await self.read(caller, number, limit + 1, before=query.after)
        headers = next_page(request, _count(entries[limit - 1])) if len(entries) > limit else ()
        page = [history_body(each.metadata.name, each.spec, resource_id=number) for each in entries[:limit]]
        return Reply(200, encode(page), headers=headers)

    async def read(self, caller: Caller, number: int, limit: int, *, before: int = 0) -> list[Reconciliation]:
        """The newest so many, the newest first, and with `before` those before the one of that number; `RefusalError`
        404 where there is neither a resource nor a record, 403 where the caller may not see them.
        """
        try:
            found = await find_numbered(self._face, caller, number, "READ")
        except RefusalError as error:
            if error.status != 404 or not (entries := await self.left_behind(number)):
                raise
            await check_right(caller, entries[0].spec.resource_kind, entries[0].spec.resource_version, "READ")
            return [each for each in entries if not before or _count(each) < before][:limit]
        return (await self._recorded(found, limit, before))[:limit]

    async def _recorded(self, found: Found, limit: int, before: int) -> list[Reconciliation]:
        metadata = found.entry.metadata
        resource = Resource(metadata=Metadata(metadata.name, metadata.namespace, metadata.uid))
        # The newest may not be written yet, or the count may not be: there may be one more, or one less.
        newest = found.entry.read_status().reconciliations + 1
        entries: list[Reconciliation] = []
        for start in range(min(newest, before - 1) if before else newest, 0, -_AT_ONCE):
            numbers = range(start, max(start - _AT_ONCE, 0), -1)
            found_ones = await asyncio.gather(*(self._entry(entry_name(resource, each)) for each in numbers))
            entries += [each for each in found_ones if each is not None]
            if len(entries) >= limit or not any(found_ones):
                break
        return entries

    async def _entry(self, name: str) -> Reconciliation | None:
        try:
            return _one.decode(await self._face.client.fetch("GET", _KIND.path(self._face.namespace, name)))
        except NotFoundError:
            return None

    async def left_behind(self, number: int) -> list[Reconciliation]:
        """The record of a resource that is gone, the newest first."""
        query = {"labelSelector": f"{ID}={number}"}
        items = _list.decode(await self._face.client.fetch("GET", _KIND.path(self._face.namespace), query)).items
        return sorted(items, key=lambda each: (_count(each), each.spec.finished), reverse=True)


def _count(entry: Reconciliation) -> int:
    number = entry.metadata.name.rpartition("-")[2]
    return int(number) if number.isdecimal() else 0

"""`/resources`: create, list, update and delete resources by number or by name."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import aclosing
from typing import Final

from homeostat.edge.reply import Reply
from homeostat.edge.request import Request
from homeostat.edge.threads import in_thread
from homeostat.objects.errors import NotFoundError
from homeostat.objects.json import JsonObject, encode
from homeostat.operators.actions.api import REQUESTED
from homeostat.web.actions import declare
from homeostat.web.actions.bodies import kept_finalizers, plugin_of, resource_body
from homeostat.web.actions.cancel import cancel_run
from homeostat.web.actions.face import Face, check_right
from homeostat.web.actions.forms import (
    LARGEST_PAGE,
    LARGEST_PAGE_BYTES,
    Applied,
    Changed,
    Declaration,
    Finalizers,
    ResourceQuery,
    read_applied,
)
from homeostat.web.actions.index.changes import IndexedResource
from homeostat.web.actions.index.entry import Entry, TypeEntry, phase_of
from homeostat.web.actions.index.lookup import Found, find_named, find_numbered, no_resource
from homeostat.web.kit.etags import mismatch, tagged
from homeostat.web.kit.form import read_body, read_number, read_query
from homeostat.web.kit.gate import Caller
from homeostat.web.kit.pages import next_page
from homeostat.web.kit.routing import API

_LARGE_BYTES: Final = 64 * 1024
"""A page from this size on is encoded in a thread."""
Candidate = tuple[IndexedResource, TypeEntry]


class Resources:
    def __init__(self, face: Face) -> None:
        self._face = face

    async def create(self, request: Request, captured: Mapping[str, str]) -> Reply:
        caller, wanted = await self._face.identify(request), await read_body(request, Declaration)
        wanted.check_sizes()
        return await self._created(caller, await declare.create(self._face, caller, wanted))

    async def list(self, request: Request, captured: Mapping[str, str]) -> Reply:
        caller, query = await self._face.identify(request), read_query(request, ResourceQuery)
        limit, claims = min(query.limit, LARGEST_PAGE), (await self._face.plugins.known()).claims
        candidates = _candidates(self._face, query, await self._readable(caller), claims)
        async with aclosing(self._face.walks.over(candidates)) as walked:
            page, has_more = await _page(walked, limit)
        headers = next_page(request, page[-1][0].entry.number) if has_more else ()

        def bodies() -> bytes:
            return encode(
                [
                    resource_body(indexed, of, is_admin=caller.is_admin, claimed=claims.get(of.spec.name, ""))
                    for indexed, of in page
                ]
            )

        is_large = sum(indexed.entry.size for indexed, _ in page) > _LARGE_BYTES
        return Reply(
            200, await in_thread(bodies, user=f"rest:{caller.username}") if is_large else bodies(), headers=headers
        )

    async def show(self, request: Request, captured: Mapping[str, str]) -> Reply:
        caller = await self._face.identify(request)
        found = await find_numbered(self._face, caller, read_number(captured, "id"), "READ")
        return await self._answer(200, caller, found)

    async def show_named(self, request: Request, captured: Mapping[str, str]) -> Reply:
        caller = await self._face.identify(request)
        await check_right(caller, captured["type"], captured["version"], "READ")
        resource_type = self._face.index.type_named(captured["type"], captured["version"])
        found = await find_named(self._face, captured["name"], resource_type) if resource_type is not None else None
        if found is None:
            raise no_resource()
        return await self._answer(200, caller, found)

    async def change(self, request: Request, captured: Mapping[str, str]) -> Reply:
        caller, form = await self._face.identify(request), await read_body(request, Changed)
        found = await find_numbered(self._face, caller, read_number(captured, "id"), "UPDATE")
        changed = await declare.update(self._face, request, caller, found, _declaration(found, form))
        return await self._answer(200, caller, changed)

    async def apply(self, request: Request, captured: Mapping[str, str]) -> Reply:
        """Creates or updates a resource; repeating the request changes nothing."""
        caller, form = await self._face.identify(request), await read_body(request, Applied)
        wanted = read_applied(captured, form)
        resource_type = self._face.index.type_named(wanted.resource_type_name, wanted.resource_type_version)
        found = await find_named(self._face, wanted.name, resource_type) if resource_type is not None else None
        if found is None:
            if "if-match" in request.headers:
                raise mismatch()
            return await self._created(caller, await declare.create(self._face, caller, wanted))
        await check_right(caller, wanted.resource_type_name, wanted.resource_type_version, "UPDATE")
        return await self._answer(200, caller, await declare.apply(self._face, request, caller, found, wanted))

    async def delete(self, request: Request, captured: Mapping[str, str]) -> Reply:
        caller, number = await self._face.identify(request), read_number(captured, "id")
        found = await find_numbered(self._face, caller, number, "DELETE")
        await declare.check_seen(self._face, request, found)
        await declare.remove(self._face, request, caller, found)
        return Reply(202, encode({"message": "Resource marked for deletion", "resource_id": number}))

    async def reconcile(self, request: Request, captured: Mapping[str, str]) -> Reply:
        caller, number = await self._face.identify(request), read_number(captured, "id")
        found = await find_numbered(self._face, caller, number, "UPDATE")
        patch: JsonObject = {"metadata": {"annotations": {REQUESTED: self._face.stamp()}}}
        try:
            await self._face.acting(caller).merge(found.indexed.path, patch)
        except NotFoundError as error:
            raise no_resource() from error
        return Reply(202, encode({"message": "Reconciliation triggered", "resource_id": number}))

    async def cancel(self, request: Request, captured: Mapping[str, str]) -> Reply:
        caller, number = await self._face.identify(request), read_number(captured, "id")
        found = await find_numbered(self._face, caller, number, "UPDATE")
        await cancel_run(self._face.acting(caller), found)
        return Reply(202, encode({"message": "Cancellation requested", "resource_id": number}))

    async def show_outputs(self, request: Request, captured: Mapping[str, str]) -> Reply:
        caller = await self._face.identify(request)
        found = await find_numbered(self._face, caller, read_number(captured, "id"), "READ")
        return tagged(200, {"outputs": found.entry.read_status().outputs}, found.version)

    async def change_finalizers(self, request: Request, captured: Mapping[str, str]) -> Reply:
        caller, form = await self._face.identify(request), await read_body(request, Finalizers)
        number = read_number(captured, "id")
        found = await find_numbered(self._face, caller, number, "UPDATE")
        await declare.check_seen(self._face, request, found)
        plugin = plugin_of(found.entry, found.type, await self._face.claim_on(found.type))
        changed = await declare.rewrite(self._face, request, caller, found, _finalizers(form, plugin))
        metadata = changed.entry.metadata
        if metadata.deletion_timestamp and not metadata.finalizers:
            return Reply(200, encode({"message": "All finalizers removed, resource deleted", "resource_id": number}))
        return await self._answer(200, caller, changed)

    async def _readable(self, caller: Caller) -> set[tuple[str, str]]:
        pairs = [(each.spec.name, each.spec.version) for each in self._face.index.types()]
        return {each for each in pairs if caller.is_admin or await caller.may(*each, "READ")}

    async def _answer(self, status: int, caller: Caller, found: Found, *headers: tuple[str, str]) -> Reply:
        claimed = await self._face.claim_on(found.type)
        body = resource_body(found.indexed, found.type, is_admin=caller.is_admin, claimed=claimed)
        return tagged(status, body, found.version, *headers)

    async def _created(self, caller: Caller, made: Found) -> Reply:
        return await self._answer(201, caller, made, ("Location", f"{API}/resources/{made.entry.number}"))


async def _page(candidates: AsyncIterator[Candidate | None], limit: int) -> tuple[list[Candidate], bool]:
    """The first resources, within the limits of a page, and whether there are more."""
    page: list[Candidate] = []
    size = 0
    async for each in candidates:
        if each is None:
            continue
        size += each[0].entry.size
        if len(page) == limit or (page and size > LARGEST_PAGE_BYTES):
            return page, True
        page.append(each)
    return page, False


def _candidates(
    face: Face, query: ResourceQuery, readable: set[tuple[str, str]], claims: Mapping[str, str]
) -> Iterator[Candidate | None]:
    """All resources, with None for those that the query does not choose: a walk over many of these takes time, too."""
    for indexed in face.index.newest(before=query.after):
        of = face.index.type_of(indexed)
        is_readable = of is not None and (of.spec.name, of.spec.version) in readable
        yield (indexed, of) if of is not None and is_readable and _is_chosen(indexed.entry, of, query, claims) else None


def _is_chosen(entry: Entry, of: TypeEntry, query: ResourceQuery, claims: Mapping[str, str]) -> bool:
    spec = of.spec
    if query.resource_type_name not in ("", spec.name) or query.resource_type_version not in ("", spec.version):
        return False
    if query.status and query.status != phase_of(entry, entry.read_phase()):
        return False
    plugin = query.action_plugin
    return not plugin or plugin == plugin_of(entry, of, claims.get(spec.name, ""))


def _declaration(found: Found, form: Changed) -> Declaration:
    wanted = Declaration(
        name=found.entry.metadata.name,
        resource_type_name=found.type.spec.name,
        resource_type_version=found.type.spec.version,
        spec=form.spec,
        plugin_config=form.plugin_config,
    )
    wanted.check_sizes()
    return wanted


def _finalizers(form: Finalizers, plugin: str) -> Callable[[JsonObject], None]:
    added, removed = kept_finalizers(form.add, plugin), kept_finalizers(form.remove, plugin)

    def change(obj: JsonObject) -> None:
        existing = obj["metadata"].get("finalizers") or []
        both = dict.fromkeys([*existing, *added])
        obj["metadata"]["finalizers"] = [each for each in both if each not in removed]

    return change

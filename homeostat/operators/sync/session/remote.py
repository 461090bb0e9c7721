"""What the server has: one object, a collection, and who is who in it.

| what is asked | requests |
|---|---|
| an object whose id is known | one GET |
| an object that is known by its alias only | GET by that name, else one list of its collection and a GET by its id |
| an object to apply whose id the file lacks | one list of its collection, which is kept for the others |
"""

from __future__ import annotations

import asyncio
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from typing import Any, Final

from homeostat.objects.json import Json
from homeostat.operators.sync.engine.errors import (
    ConflictError,
    ListShapeError,
    NotFoundError,
    TransportError,
    UnrenderedError,
    ValidationError,
)
from homeostat.operators.sync.engine.lists.items import Item, identified, identity_of, items_of, matching
from homeostat.operators.sync.engine.metadata.call import Call, Place, render_call, scope_of
from homeostat.operators.sync.engine.metadata.rules import Rules
from homeostat.operators.sync.engine.openapi.use import completed
from homeostat.operators.sync.engine.paths.logical import ROOT, name, normal, parent, segments
from homeostat.operators.sync.engine.payload.codec import Payload
from homeostat.operators.sync.engine.payload.format import JSON, Descriptor
from homeostat.operators.sync.engine.payload.pointer import MISSING
from homeostat.operators.sync.session.desired import Desired
from homeostat.operators.sync.session.session import Session
from homeostat.operators.sync.session.transform import transformed

_reading_lists: Final = ContextVar[frozenset[str]]("_reading_lists", default=frozenset())
"""The collections whose lists the current task is reading: a jq program of a list may need another list."""


@dataclass(frozen=True, slots=True)
class Remote:
    """An object of the server; `value` is MISSING if it has none."""

    value: Any = field(default=MISSING, repr=False)
    id: str = ""
    alias: str = ""
    form: Descriptor = JSON
    etag: str = ""

    @property
    def is_there(self) -> bool:
        return self.value is not MISSING


async def render(
    session: Session, rules: Rules, operation: str, place: Place, payload: Json = None, form: Descriptor = JSON
) -> Call:
    """The call of an operation, with what the OpenAPI document adds."""
    known = await _placed(session, rules, place)
    chosen = rules.operations[operation]
    call = completed(session.openapi, chosen, render_call(rules, chosen, known, payload, form))
    return replace(call, is_secret=True) if rules.is_secret else call


async def _placed(session: Session, rules: Rules, place: Place) -> Place:
    """With the path of the collection on the server: ids in place of the aliases of the objects above."""
    if rules.remote_collection or place.collection:
        return place
    parts = segments(place.logical_collection)
    found = list(parts)
    for depth in range(1, len(parts)):
        above = "/" + "/".join(parts[:depth])
        if not _has_two_identities(session, above):
            continue
        try:
            item = matching(await list_items(session, above), parts[depth])
        except (NotFoundError, ListShapeError):
            continue
        if item is not None:
            found[depth] = item.id
    if found == parts:
        return place
    return Place(
        path=place.path,
        is_collection=place.is_collection,
        alias=place.alias,
        remote_id=place.remote_id,
        collection="/" + "/".join(found),
    )


def _has_two_identities(session: Session, collection: str) -> bool:
    """Whether documents of exactly this collection distinguish id and alias of its objects."""
    depth = len(segments(collection))
    for each in session.metadata.layers(collection, is_collection=True):
        resource = each.document.get("resource", {})
        if each.depth == depth and ("id" in resource or "alias" in resource):
            return not session.metadata.rules(collection, is_collection=True).has_one_identity
    return False


async def read_resource(session: Session, path: str) -> Json:
    """Another object, for `resource("/path")` of a jq program. If there is none, the program fails: what it was to
    find does not count as missing.
    """
    call = await render(session, session.metadata.rules(path), "get", Place(path=path))
    try:
        answer = await session.remote.ask(call)
    except NotFoundError as error:
        raise ValidationError(f'resource("{path}") of a jq program was not found: {error}') from error
    return answer.payload.value


async def list_items(session: Session, collection: str, *, method: str = "") -> list[Item]:
    """All objects of a collection, from one list that is kept for the session. Callers that come while it is read wait
    for it; if it fails, each of them reads its own.
    """
    if collection in session.lists:
        return session.lists[collection]
    rules = session.metadata.rules(collection, is_collection=True)
    # This may read the lists above, so it comes before this list is begun.
    call = await render(session, rules, "list", Place(path=collection, is_collection=True))
    if collection in session.lists:
        return session.lists[collection]
    above = _reading_lists.get()
    if collection in above:
        raise ValidationError(f"the list of {collection} needs itself, by resource() of a jq program")
    under_way = session.listing.get(collection)
    # A task that reads a list waits for no other list: two of them could wait for each other.
    if under_way is not None and not above:
        await asyncio.wait([under_way])
        if (shared := under_way.result()) is not None:
            return shared
    return await _read_list(session, collection, rules, replace(call, method=method) if method else call)


async def _read_list(session: Session, collection: str, rules: Rules, call: Call) -> list[Item]:
    """Kept, unless the collection was forgotten meanwhile or another task began before."""
    done: asyncio.Future[list[Item] | None] = asyncio.get_running_loop().create_future()
    session.listing.setdefault(collection, done)
    before = _reading_lists.set(_reading_lists.get() | {collection})
    items: list[Item] | None = None
    try:
        values = await _values(session, collection, rules, call)
        items = await asyncio.to_thread(identified, collection, values, rules)
    finally:
        _reading_lists.reset(before)
        done.set_result(items)
        if session.listing.get(collection) is done:
            del session.listing[collection]
            if items is not None:
                session.lists[collection] = items
    return items


async def _values(session: Session, collection: str, rules: Rules, call: Call) -> list[Json]:
    place, operation = Place(path=collection, is_collection=True), rules.operations["list"]
    values = list[Json]()
    reading: set[str] = set()

    async def read(path: str) -> Json:
        wanted = normal(path)
        if wanted in reading:
            raise ValidationError(f'resource("{wanted}") of a jq program leads back to itself')
        reading.add(wanted)
        try:
            return await read_resource(session, wanted)
        finally:
            reading.discard(wanted)

    async for page in session.remote.pages(call, operation.pagination):
        scope = scope_of(rules, place)
        (value,) = await transformed(session.jq, operation.transforms, [page], read, scope)
        values += items_of(value)
    return values


async def get(session: Session, path: str, rules: Rules, remote: Remote, *, source: Json = None, accept: str = "",
              expected: Descriptor | None = None, method: str = "") -> Remote:  # fmt: skip
    """One GET by this identity; `NotFoundError` if there is none."""
    form = expected or rules.form or JSON
    place = Place(path=path, alias=remote.alias, remote_id=remote.id)
    call = await render(session, rules, "get", place, source, form)
    if method:
        call = Call(method, call.path, call.query, call.headers)
    answer = await session.remote.ask(call, expected=form, accept=accept)
    value = answer.payload.value
    steps = rules.operations["get"].transforms
    if steps and not isinstance(value, bytes | str):
        scope = scope_of(rules, place, source)
        (value,) = await transformed(session.jq, steps, [value], lambda each: read_resource(session, each), scope)
    alias, identity = identity_of(rules, value) if isinstance(value, dict) else ("", "")
    return Remote(value, identity or remote.id, alias or remote.alias, answer.payload.form, answer.etag)


async def find(session: Session, path: str, *, method: str = "") -> Remote:
    """The object that a path names, by its alias or its id."""
    rules = session.metadata.rules(path)
    wanted = name(path)
    try:
        found = await get(session, path, rules, Remote(alias=wanted, id=wanted), method=method)
    except (NotFoundError, UnrenderedError) as error:
        return await _find_in_list(session, path, rules, error)
    if not rules.has_one_identity and isinstance(found.value, dict) and found.alias != wanted:
        await _check_unambiguous(session, path, found)
    return found


async def _find_in_list(session: Session, path: str, rules: Rules, missing: Exception) -> Remote:
    item = await _listed(session, path, name(path))
    if item is None:
        raise missing if isinstance(missing, NotFoundError) else NotFoundError(f"{path} was not found: {missing}")
    if item.id == name(path):
        return Remote(item.value, item.id, item.alias)
    try:
        return await get(session, path, rules, Remote(id=item.id, alias=item.alias), source=item.value)
    except (NotFoundError, UnrenderedError):
        return Remote(item.value, item.id, item.alias)


async def _listed(session: Session, path: str, wanted: str) -> Item | None:
    """In the list of its collection; None if there is neither."""
    if path == ROOT or (parent(path) == ROOT and not session.metadata.layers(ROOT, is_collection=True)):
        return None
    try:
        return matching(await list_items(session, parent(path)), wanted)
    except (NotFoundError, ListShapeError):
        return None


async def _check_unambiguous(session: Session, path: str, found: Remote) -> None:
    other = await _other(session, path, name(path), found.id)
    if other is not None:
        raise ConflictError(
            f"{path} is ambiguous: it is the id of one object and the alias of another with id {other.id}"
        )


async def _other(session: Session, path: str, alias: str, identity: str) -> Item | None:
    try:
        items = await list_items(session, parent(path))
    except (NotFoundError, ValidationError):
        return None
    return next((each for each in items if each.alias == alias and each.id != identity), None)


async def observe(session: Session, wanted: Desired) -> Remote:
    """The object that a declared resource stands for, as a comparison needs it; `TransportError` if the answer cannot
    be one.
    """
    remote = await _observe(session, wanted)
    if remote.is_there and isinstance(wanted.value, dict) and not isinstance(remote.value, dict | list):
        kind = "nothing" if remote.value is None else "a text"
        raise TransportError(f"the server answered {kind} in place of the object; expected {wanted.wire.media}")
    return remote


async def _observe(session: Session, wanted: Desired) -> Remote:
    path, rules = wanted.path, wanted.rules
    accept = wanted.wire.media
    if wanted.id:
        try:
            found = await get(
                session, path, rules, Remote(id=wanted.id, alias=wanted.alias), source=wanted.value,
                accept=accept, expected=wanted.wire,
            )  # fmt: skip
        except (NotFoundError, UnrenderedError):
            if rules.has_one_identity:
                return Remote()
        else:
            if not rules.has_one_identity and isinstance(found.value, dict) and found.alias != wanted.alias:
                other = await _other(session, path, wanted.alias, found.id)
                if other is not None:
                    raise ConflictError(
                        f"{path} is ambiguous: one object has its id {wanted.id}, another one its alias {wanted.alias}"
                    )
            return found
    item = await _alias_in_list(session, wanted)
    if item is None:
        return Remote()
    try:
        remote = Remote(id=item.id, alias=item.alias)
        return await get(session, path, rules, remote, source=item.value, accept=accept, expected=wanted.wire)
    except (NotFoundError, UnrenderedError):
        return Remote(item.value, item.id, item.alias)


async def _alias_in_list(session: Session, wanted: Desired) -> Item | None:
    try:
        items = await list_items(session, parent(wanted.path))
    except (NotFoundError, ListShapeError):
        return None
    return next((each for each in items if each.alias == wanted.alias), None)


def payload_of(remote: Remote) -> Payload:
    return Payload(remote.value, remote.form)

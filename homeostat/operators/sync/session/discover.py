"""Finds what a server has: its collections, by metadata and the OpenAPI document, and their objects.

A collection that cannot be listed is reported and left out; the others go on. A server that cannot be reached ends it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from homeostat.edge.turn import map_concurrently
from homeostat.objects.json import JsonObject
from homeostat.operators.sync.engine.errors import SyncError, TransportError, ValidationError
from homeostat.operators.sync.engine.lists.items import Item
from homeostat.operators.sync.engine.metadata.layers import Metadata, documented
from homeostat.operators.sync.engine.openapi.infer import infer
from homeostat.operators.sync.engine.paths.logical import (
    ROOT,
    WILDCARD,
    is_within,
    join,
    overlaps,
    parent,
    segments,
)
from homeostat.operators.sync.engine.paths.selector import Selector, is_wild, selects
from homeostat.operators.sync.engine.payload import yaml
from homeostat.operators.sync.engine.payload.codec import Payload
from homeostat.operators.sync.engine.secrets.detect import detect
from homeostat.operators.sync.engine.tree.directory import directory_of
from homeostat.operators.sync.engine.tree.layout import metadata_file
from homeostat.operators.sync.session.remote import Remote, get, list_items, payload_of
from homeostat.operators.sync.session.session import Session

MOST_RESOURCES: Final = 10_000
Report = Callable[[str, int], None]
"""Is called for each collection with the number of its objects."""


@dataclass(slots=True)
class Discovered:
    payloads: list[tuple[str, Payload]] = field(default_factory=list)
    addresses: dict[str, str] = field(default_factory=dict)
    """Of each collection: as metadata has it, with `_` for any name."""
    skipped: dict[str, SyncError] = field(default_factory=dict)


def known_collections(session: Session) -> list[str]:
    """The addresses of collections that metadata or the OpenAPI document knows, parents first, `_` for any name."""
    sources = [each for each in (session.shared, session.root) if each is not None]
    found = {address for each in sources for address in documented(each)}
    found |= set(session.openapi.collections()) if session.openapi is not None else set()
    return sorted(found, key=lambda each: (len(segments(each)), each))


def infer_metadata(session: Session) -> dict[str, JsonObject]:
    """Documents for collections that have none, by their addresses; the session uses them from here on."""
    found = dict[str, JsonObject]()
    if session.openapi is not None:
        for each in known_collections(session):
            if not _has_document(session, each) and (
                document := infer(session.openapi, Selector(tuple(segments(each)), True))
            ):
                found[each] = document
    _use(session, found)
    return found


def declare_secrets(session: Session, documents: dict[str, JsonObject], found: Discovered) -> None:
    """Add what looks like a secret to the documents of its collection, so that saving stores it."""
    for path, payload in found.payloads:
        address = found.addresses[parent(path)]
        known = session.metadata.rules(path).secret_attributes
        new = [each for each in detect(payload.value) if each not in known] if payload.form.is_structured else []
        if new:
            document = documents.get(address, {})
            inner = document.get("resource", {})
            listed = inner.get("secretAttributes", list(known))
            listed = [*listed, *(each for each in new if each not in listed)]
            documents[address] = {**document, "resource": {**inner, "secretAttributes": listed}}
    _use(session, documents)


def _use(session: Session, documents: Mapping[str, JsonObject]) -> None:
    files = {
        f"{Selector(tuple(segments(address)), True).directory}/metadata.yaml": yaml.dump(document)
        for address, document in documents.items()
    }
    sources = (session.shared, session.root, directory_of(files))
    session.metadata = Metadata(*(each for each in sources if each is not None))


def _has_document(session: Session, address: str) -> bool:
    for root in (session.shared, session.root):
        directory = root.at([*segments(address), WILDCARD]) if root is not None else None
        if directory is not None and metadata_file(directory.files) is not None:
            return True
    return False


async def discover(
    session: Session, within: Sequence[str], report: Report, *, is_full: bool = False, most: int = MOST_RESOURCES
) -> Discovered:
    """The objects at these paths and below them. `is_full` reads each object by itself, for lists that show a part."""
    found, above = Discovered(), list[str]()
    for address in _addresses(session, within):
        paths = [each for each in _expanded(address, above) if any(overlaps(each, path) for path in within)]

        async def one(path: str) -> list[Item]:
            try:
                return await list_items(session, path)
            except TransportError:
                raise
            except SyncError as error:
                found.skipped[path] = error
                return []

        for path, items in zip(paths, await map_concurrently(one, paths, at_once=session.concurrency), strict=True):
            found.addresses[path] = address
            related = [each for each in items if any(overlaps(each.path, path) for path in within)]
            above += [each.path for each in related]
            kept = [each for each in related if any(is_within(each.path, path) for path in within)]
            found.payloads += [(each.path, Payload(each.value)) for each in kept]
            report(path, len(kept))
            if len(found.payloads) > most:
                raise ValidationError(f"the server has more than {most} objects; import some collections only")
    found.payloads.sort(key=lambda each: each[0])
    if is_full:
        wanted = [path for path, _ in found.payloads]
        found.payloads = await map_concurrently(lambda path: _read(session, path), wanted, at_once=session.concurrency)
    return found


def _addresses(session: Session, within: Sequence[str]) -> list[str]:
    """The known collections, and each path that belongs to none of them."""
    known = known_collections(session)
    unknown = [each for each in within if each != ROOT and not any(_covers(address, each) for address in known)]
    return sorted({*known, *unknown}, key=lambda each: (len(segments(each)), each))


def _covers(address: str, path: str) -> bool:
    """Whether the path is a collection of this address, or an object of one."""
    pattern, parts = segments(address), segments(path)
    return len(parts) - len(pattern) in (0, 1) and all(map(selects, pattern, parts))


def _expanded(address: str, known: Iterable[str]) -> list[str]:
    """The collections that an address stands for, beside objects that were found already."""
    parts = segments(address)
    wild = [place for place, part in enumerate(parts) if is_wild(part)]
    if not wild:
        return [address]
    deepest = wild[-1] + 1
    above = [
        each
        for each in known
        if len(segments(each)) == deepest
        and all(selects(pattern, part) for pattern, part in zip(parts, segments(each), strict=False))
    ]
    return [join(each, "/".join(parts[deepest:])) if parts[deepest:] else each for each in sorted(above)]


async def _read(session: Session, path: str) -> tuple[str, Payload]:
    collection = path.rpartition("/")[0]
    item = next(each for each in session.lists[collection] if each.path == path)
    rules = session.metadata.rules(path)
    return path, payload_of(await get(session, path, rules, Remote(id=item.id, alias=item.alias), source=item.value))

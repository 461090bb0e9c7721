"""`/dashboard/find`: what the keyboard palette finds: pages, kinds, and objects by name.

`deploy web` searches one kind, `web` all of them. A search reads a bounded number of objects with the permissions of
the visitor and ends after a moment with what it has: the palette is for going somewhere, the lists are for searching.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Annotated, Final

import msgspec
from msgspec import Meta

from homeostat.client.base import Client, UnreachableError
from homeostat.edge.turn import map_concurrently
from homeostat.objects.errors import ApiError
from homeostat.objects.json import Json
from homeostat.objects.kind import NAMESPACE, Kind
from homeostat.web.dashboard.objects.access import may_list
from homeostat.web.dashboard.objects.index import TITLE as OBJECTS
from homeostat.web.dashboard.objects.kinds import ServedKinds, kind_path, object_path
from homeostat.web.dashboard.objects.table import ACCEPT_METADATA, RowMetadata, read_names
from homeostat.web.dashboard.place import MOST_FOUND, Place
from homeostat.web.dashboard.section import Section
from homeostat.web.dashboard.visit import Visit
from homeostat.web.kit.form import read_query

_SEARCHED_EACH: Final = 500
_AT_ONCE: Final = 8
_WITHIN_S: Final = 0.5
_SHORTEST: Final = 2
_MOST_KINDS: Final = 8
_MOST_PLACES: Final = 5
"""The namespaces that are searched for who may not search all."""
_DERIVED: Final = frozenset({"Endpoints", "EndpointSlice", "ReplicaSet", "ControllerRevision"})


class Wanted(msgspec.Struct, frozen=True):
    q: Annotated[str, Meta(max_length=253)] = ""


class Palette:
    def __init__(self, client: Client, kinds: ServedKinds, sections: Sequence[Section]) -> None:
        self._client, self._kinds, self._sections = client, kinds, sections

    async def find(self, visit: Visit) -> Json:
        words = read_query(visit.request, Wanted).q.lower().split()
        found = _pages(visit, words)
        if words and any(title == OBJECTS for title, _ in visit.viewer.sections):
            kinds = await self._kinds.listed()
            named = await self._objects(visit, kinds, words) if len(found) < MOST_FOUND else []
            found += _merged(_kinds(kinds, words), named, words[-1])
        elif words:
            found += await self._of_sections(visit, words)
        return {"found": msgspec.to_builtins(found[:MOST_FOUND])}

    async def _of_sections(self, visit: Visit, words: Sequence[str]) -> list[Place]:
        """For who sees no objects, such as users of the REST API."""
        found: list[Place] = []
        for each in self._sections:
            if each.find is not None and await each.is_visible(visit.caller):
                found += await each.find(visit, words)
        return found

    async def _objects(self, visit: Visit, kinds: Sequence[Kind], words: Sequence[str]) -> list[Place]:
        *kind_words, name = words
        if len(name) < _SHORTEST:
            return []
        client = visit.client(self._client)
        is_part = bool(visit.reachable) and not await may_list(client, NAMESPACE)
        places = visit.reachable[:_MOST_PLACES] if is_part else ("",)
        asked = [each for each in kinds if not kind_words or kind_words[0] in each.words()]
        chosen = [(each, place) for place in places for each in asked if each.is_namespaced or not is_part]
        found: list[tuple[str, str, Place]] = []

        async def search(at: tuple[Kind, str]) -> None:
            kind, namespace = at
            try:
                query = {"limit": _SEARCHED_EACH}
                listed = read_names(await client.fetch("GET", kind.path(namespace), query, accept=ACCEPT_METADATA))
            except (ApiError, UnreachableError, msgspec.DecodeError):
                return
            named = (each.metadata for each in listed.items or () if name in each.metadata.name.lower())
            found.extend((kind.kind, each.name, _place(kind, each)) for each in named)

        try:
            async with asyncio.timeout(_WITHIN_S):
                await map_concurrently(search, chosen, at_once=_AT_ONCE)
        except TimeoutError:
            pass
        found.sort(key=lambda each: _rank(name, *each[:2]))
        return [place for *_, place in found[:MOST_FOUND]]


def _rank(word: str, kind: str, name: str) -> tuple[bool, bool, bool, int, str, bool, str]:
    """The exact name first, then names that begin with the word, then the shortest; of one name, objects that others
    have made last. Events, which have the names of others in theirs, come after everything.
    """
    return kind == "Event", name != word, not name.startswith(word), len(name), name, kind in _DERIVED, kind


def _merged(kinds: Sequence[Kind], named: Sequence[Place], word: str) -> list[Place]:
    """Kinds that begin with the word come after objects of this very name, and other kinds after objects that begin
    with it.
    """
    begun = [each for each in kinds if any(name.startswith(word) for name in each.words())]
    rest = [each for each in kinds if each not in begun]
    exact = [each for each in named if each.title == word]
    close = [each for each in named if each.title.startswith(word) and each not in exact and not _is_event(each)]
    far = [each for each in named if each not in exact and each not in close]
    return [*exact, *map(_kind_place, begun), *close, *map(_kind_place, rest), *far]


def _pages(visit: Visit, words: Sequence[str]) -> list[Place]:
    viewer = visit.viewer
    # Without a word, the sections alone.
    links = (*viewer.sections, *(viewer.pages if words else ()))
    return [Place(title, "page", path) for title, path in links if all(word in title.lower() for word in words)]


def _kinds(kinds: Sequence[Kind], words: Sequence[str]) -> list[Kind]:
    if len(words) != 1:
        return []
    (word,) = words
    found = [each for each in kinds if any(word in name for name in each.words())]
    found.sort(key=lambda each: (word not in each.words(), not any(name.startswith(word) for name in each.words())))
    return found[:_MOST_KINDS]


def _is_event(place: Place) -> bool:
    return place.note.partition(" ")[0] == "Event"


def _kind_place(kind: Kind) -> Place:
    return Place(kind.kind, kind.api_version, kind_path(kind))


def _place(kind: Kind, metadata: RowMetadata) -> Place:
    where = f"{kind.kind} in {metadata.namespace}" if metadata.namespace else kind.kind
    return Place(metadata.name, where, object_path(kind, metadata.namespace, metadata.name))

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
from homeostat.objects.errors import ApiError
from homeostat.objects.json import Json
from homeostat.objects.kind import Kind
from homeostat.web.dashboard.objects.index import TITLE as OBJECTS
from homeostat.web.dashboard.objects.kinds import ServedKinds, kind_path, object_path
from homeostat.web.dashboard.objects.table import ACCEPT_METADATA, RowMetadata, read_names
from homeostat.web.dashboard.visit import Visit
from homeostat.web.kit.form import read_query

MOST_FOUND: Final = 20
_SEARCHED_EACH: Final = 500
_AT_ONCE: Final = 8
_WITHIN_S: Final = 0.5
_SHORTEST: Final = 2


class Place(msgspec.Struct, frozen=True):
    """Where the palette leads: `note` says what it is."""

    title: str
    note: str
    path: str


class Wanted(msgspec.Struct, frozen=True):
    q: Annotated[str, Meta(max_length=253)] = ""


class Palette:
    def __init__(self, client: Client, kinds: ServedKinds) -> None:
        self._client, self._kinds = client, kinds

    async def find(self, visit: Visit) -> Json:
        words = read_query(visit.request, Wanted).q.lower().split()
        found = _pages(visit, words)
        if words and any(title == OBJECTS for title, _ in visit.viewer.sections):
            kinds = await self._kinds.listed()
            named = await self._objects(visit.client(self._client), kinds, words) if len(found) < MOST_FOUND else []
            # An object of this very name comes before kinds that only have the word in theirs.
            exact = [each for each in named if each.title == words[-1]]
            found += [*exact, *_kinds(kinds, words), *(each for each in named if each not in exact)]
        return {"found": msgspec.to_builtins(found[:MOST_FOUND])}

    async def _objects(self, client: Client, kinds: Sequence[Kind], words: Sequence[str]) -> list[Place]:
        *kind_words, name = words
        if len(name) < _SHORTEST:
            return []
        chosen = [each for each in kinds if not kind_words or kind_words[0] in each.words()]
        found: list[tuple[bool, bool, str, Place]] = []
        slots = asyncio.Semaphore(_AT_ONCE)

        async def search(kind: Kind) -> None:
            async with slots:
                try:
                    query = {"limit": _SEARCHED_EACH}
                    listed = read_names(await client.fetch("GET", kind.path(""), query, accept=ACCEPT_METADATA))
                except (ApiError, UnreachableError, msgspec.DecodeError):
                    return
                named = (each.metadata for each in listed.items or () if name in each.metadata.name.lower())
                is_event = kind.kind == "Event"
                found.extend((is_event, each.name != name, each.name, _place(kind, each)) for each in named)

        try:
            async with asyncio.timeout(_WITHIN_S), asyncio.TaskGroup() as tasks:
                for each in chosen:
                    tasks.create_task(search(each))
        except TimeoutError:
            pass
        # The exact name first, then the shortest; Events, which have the names of others in theirs, last.
        found.sort(key=lambda each: (*each[:2], len(each[2]), each[2]))
        return [place for *_, place in found[:MOST_FOUND]]


def _pages(visit: Visit, words: Sequence[str]) -> list[Place]:
    links = visit.viewer.sections
    return [Place(title, "page", path) for title, path in links if all(word in title.lower() for word in words)]


def _kinds(kinds: Sequence[Kind], words: Sequence[str]) -> list[Place]:
    if len(words) != 1:
        return []
    (word,) = words
    found = [each for each in kinds if any(word in name for name in each.words())]
    found.sort(key=lambda each: (word not in each.words(), not any(name.startswith(word) for name in each.words())))
    return [Place(each.kind, each.api_version, kind_path(each)) for each in found[:8]]


def _place(kind: Kind, metadata: RowMetadata) -> Place:
    where = f"{kind.kind} in {metadata.namespace}" if metadata.namespace else kind.kind
    return Place(metadata.name, where, object_path(kind, metadata.namespace, metadata.name))

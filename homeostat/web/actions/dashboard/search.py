"""What the palette finds of resources and their types, for users of the REST API: they see no objects of other kinds.

As for objects, the last word is a part of the name, and the word before it a part of the type.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from heapq import nsmallest
from typing import Final
from urllib.parse import urlencode

from homeostat.web.actions.dashboard.types import readable_types, type_title
from homeostat.web.actions.face import Face
from homeostat.web.actions.index.changes import IndexedResource
from homeostat.web.dashboard.place import MOST_FOUND, Place
from homeostat.web.dashboard.root import ROOT
from homeostat.web.dashboard.visit import Visit

_HERE: Final = f"{ROOT}/resources"


class ResourceSearch:
    def __init__(self, face: Face) -> None:
        self._face = face

    async def find(self, visit: Visit, words: Sequence[str]) -> list[Place]:
        titles = {each.metadata.uid: type_title(each) for each in await readable_types(self._face, visit.caller)}
        *kind_words, word = words
        chosen = {uid: each for uid, each in titles.items() if not kind_words or kind_words[0] in each.lower()}
        candidates = self._face.walks.over(self._search(chosen, word))
        found = [each async for each in candidates if each is not None]
        found = nsmallest(MOST_FOUND, found, key=lambda each: _rank(word, each))
        types = [_of_type(each) for each in titles.values() if word in each.lower() and not kind_words]
        # A type may have changed during the walk.
        return [*types, *(_place(each, titles[uid]) for each in found if (uid := self._type_of(each)) in titles)]

    def _search(self, types: Collection[str], word: str) -> Iterator[IndexedResource | None]:
        for each in self._face.index.newest():
            is_found = word in each.entry.metadata.name and self._type_of(each) in types
            yield each if is_found else None

    def _type_of(self, resource: IndexedResource) -> str:
        found = self._face.index.type_of(resource)
        return found.metadata.uid if found is not None else ""


def _place(resource: IndexedResource, title: str) -> Place:
    return Place(resource.entry.metadata.name, title, f"{_HERE}/{resource.entry.number}")


def _rank(word: str, resource: IndexedResource) -> tuple[bool, bool, int, str]:
    """The exact name first, then names that begin with the word, then the shortest."""
    name = resource.entry.metadata.name
    return name != word, not name.startswith(word), len(name), name


def _of_type(title: str) -> Place:
    return Place(title, "type of resources", f"{_HERE}?{urlencode({'type': title})}")

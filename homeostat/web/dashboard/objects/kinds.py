"""The kinds that the server has, and the paths of their pages: discovery, read again every few seconds."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Callable
from typing import Final
from urllib.parse import quote, urlencode

from homeostat.client.base import Client, UnreachableError
from homeostat.client.discovery import fetch_kinds
from homeostat.objects.errors import ApiError, NotFoundError
from homeostat.objects.kind import DEFINITION, Kind
from homeostat.objects.schema.passwords import NO_PASSWORDS, PasswordFields, definition_passwords
from homeostat.web.dashboard.root import ROOT
from homeostat.web.kit.refusal import unknown

HERE: Final = f"{ROOT}/objects"
CORE: Final = "core"
"""Stands for the group without a name in paths."""
NO_NAMESPACE: Final = "-"
"""Stands for the namespace of cluster-scoped objects in paths; no namespace has this name."""
_KEPT_S: Final = 10.0
_MOST_KEPT: Final = 1000
_back: Final = re.compile(rf"{ROOT}/[A-Za-z0-9_./:%~-]*")


class ServedKinds:
    """`clock` counts seconds."""

    def __init__(self, client: Client, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._client, self._clock = client, clock
        self._lock = asyncio.Lock()
        self._until = float("-inf")
        self._kinds: list[Kind] = []
        self._listed: list[Kind] = []
        self._by_place: dict[tuple[str, str, str], Kind] = {}
        self._by_name: dict[tuple[str, str], Kind] = {}
        self._passwords: dict[tuple[str, str, str], tuple[float, PasswordFields]] = {}

    async def listed(self) -> list[Kind]:
        """The kinds whose objects can be listed, each in its preferred version."""
        await self._read()
        return self._listed

    async def find(self, group: str, plural: str, version: str = "") -> Kind:
        """By its place in a path; `RefusalError` 404."""
        await self._read()
        found = self._by_place.get((_group(group), plural, version))
        if found is None:
            of = f" in {version}" if version else ""
            raise unknown(f"The server has no kind {plural} of the group {group}{of}. Is its definition installed?")
        return found

    async def path_of(self, api_version: str, kind: str, namespace: str, name: str) -> str:
        """The page of an object that another one refers to; empty if the server has no such kind."""
        found = await self.named(api_version, kind)
        return object_path(found, namespace, name) if found is not None else ""

    async def named(self, api_version: str, kind: str) -> Kind | None:
        await self._read()
        return self._by_name.get((api_version, kind))

    async def by_word(self) -> dict[str, Kind]:
        """The listed kinds by their names in lower case; of several groups' kinds of one name, the first."""
        await self._read()
        return {each.kind.lower(): each for each in reversed(self._listed)}

    async def of_word(self, word: str) -> Kind | None:
        """By a name that people type: `deploy`, `deployments`, `deployments.apps`. Also kinds that cannot be listed."""
        await self._read()
        wanted = word.lower()
        preferred = (each for (*_, version), each in self._by_place.items() if not version)
        return next((each for each in preferred if wanted in (*each.words(), _full_name(each))), None)

    async def versions(self, kind: Kind) -> list[str]:
        """All versions in which the server has the kind, the preferred one first."""
        await self._read()
        return [each.version for each in self._kinds if (each.group, each.plural) == (kind.group, kind.plural)]

    async def passwords_of(self, kind: Kind) -> PasswordFields:
        """The fields of a custom kind that its schema marks as passwords."""
        if "." not in kind.group or kind.group.endswith(".k8s.io"):
            return NO_PASSWORDS
        place, now = (kind.plural, kind.group, kind.version), self._clock()
        until, found = self._passwords.get(place, (now, NO_PASSWORDS))
        if until <= now:
            try:
                definition = await self._client.get(DEFINITION.path("", f"{kind.plural}.{kind.group}"))
                found = definition_passwords(definition, kind.version)
            except NotFoundError:
                # A kind of an aggregated server has no definition.
                found = NO_PASSWORDS
            if len(self._passwords) >= _MOST_KEPT:
                self._passwords.clear()
            self._passwords[place] = (now + _KEPT_S, found)
        return found

    async def _read(self) -> None:
        if self._clock() < self._until:
            return
        async with self._lock:
            if self._clock() < self._until:
                return
            try:
                self._learn(await fetch_kinds(self._client))
            except (ApiError, UnreachableError):
                # What is known is better than nothing: each page then says itself what cannot be read.
                if not self._kinds:
                    raise
            self._until = self._clock() + _KEPT_S

    def _learn(self, kinds: list[Kind]) -> None:
        preferred: dict[tuple[str, str], Kind] = {}
        for each in kinds:
            preferred.setdefault((each.group, each.plural), each)
        self._kinds = kinds
        self._listed = [each for each in preferred.values() if {"list", "get"} <= each.verbs]
        self._by_place = {(each.group, each.plural, each.version): each for each in kinds}
        self._by_place |= {(*place, ""): each for place, each in preferred.items()}
        self._by_name = {(each.api_version, each.kind): each for each in reversed(kinds)}


def kind_path(kind: Kind, **query: object) -> str:
    """The list of the kind."""
    path = f"{HERE}/{quote(kind.group, safe='') or CORE}/{quote(kind.plural, safe='')}"
    given = urlencode({name: value for name, value in query.items() if value})
    return f"{path}?{given}" if given else path


def object_path(kind: Kind, namespace: str, name: str, page: str = "", *, version: str = "") -> str:
    """The page of one object; `page` is one of its further pages, `version` the one that the visitor chose."""
    place = namespace if kind.is_namespaced and namespace else NO_NAMESPACE
    path = f"{kind_path(kind)}/{quote(place, safe='')}/{quote(name, safe='')}"
    path = f"{path}/{page}" if page else path
    return f"{path}?{urlencode({'version': version})}" if version else path


def is_back(path: str) -> bool:
    """Whether a form may lead back to it: a page of the dashboard."""
    return _back.fullmatch(path) is not None


def _full_name(kind: Kind) -> str:
    return f"{kind.plural}.{kind.group}" if kind.group else kind.plural


def _group(group: str) -> str:
    return "" if group == CORE else group

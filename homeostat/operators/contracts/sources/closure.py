"""Fetches what a contract refers to: dependencies, configurations and policies, at every depth.

The pure parts (`graph.resolve`, `build_lock`, `validate`) return what is missing; the functions here fetch it, several
at a time and each reference once, and call them again until nothing is.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Coroutine, Mapping, Sequence
from datetime import date
from typing import Final, Protocol, TypeVar

from homeostat.operators.contracts.engine.bundle.bundle import Bundle, Unresolved
from homeostat.operators.contracts.engine.document.contract import Contract
from homeostat.operators.contracts.engine.document.parse import Parsed, ParseError
from homeostat.operators.contracts.engine.files import CONTRACT_FILE, Files
from homeostat.operators.contracts.engine.graph.graph import Graph, References, resolve
from homeostat.operators.contracts.engine.lock.build import Place, build_lock
from homeostat.operators.contracts.engine.lock.lock import Lock
from homeostat.operators.contracts.engine.reference import has_tag_or_digest, is_oci, last_segment, location
from homeostat.operators.contracts.engine.validate import Validation, load, validate
from homeostat.operators.contracts.sources.directory import Directory
from homeostat.operators.contracts.sources.errors import SourceError

AT_ONCE: Final = 8
"""References fetched at a time."""
_NO_REGISTRY: Final = Unresolved("references to registries are not resolved here")
_NO_DIRECTORY: Final = Unresolved("a bundle of a registry cannot refer to a directory")

K = TypeVar("K")
Found = Bundle | Unresolved


class Fetch(Protocol):
    """Fetches a bundle of a registry, as `RegistrySource.load`. Raises `SourceError` or `ParseError`."""

    async def __call__(self, ref: str, constraint: str = "") -> Bundle: ...


class Pulls:
    """Fetches each reference once, for all contracts that refer to it; a failure is a value, too."""

    def __init__(self, fetch: Fetch) -> None:
        self._fetch = fetch
        self._known: dict[tuple[str, str], asyncio.Future[Found]] = {}
        self._places = asyncio.Semaphore(AT_ONCE)

    async def __call__(self, ref: str, constraint: str = "") -> Found:
        key = (ref, "" if has_tag_or_digest(location(ref)) else constraint)
        if (waiting := self._known.get(key)) is not None:
            return await waiting
        found: asyncio.Future[Found] = asyncio.get_running_loop().create_future()
        self._known[key] = found
        try:
            found.set_result(await self._pull(*key))
        except BaseException:
            found.cancel()
            raise
        return found.result()

    async def _pull(self, ref: str, constraint: str) -> Found:
        try:
            async with self._places:
                return await self._fetch(ref, constraint)
        except (SourceError, ParseError) as error:
            return Unresolved(str(error))


class Closure:
    """The bundles that one contract refers to. `root` is its directory; None for a contract of a registry or an inline
    one, whose references to directories are unresolved. `siblings` is a directory whose sub-directories replace
    references to registries with the same last segment.
    """

    def __init__(self, pulls: Pulls | None, root: str | None = None, *, siblings: str | None = None) -> None:
        self._pulls, self._root, self._siblings = pulls, root, siblings

    async def graph(
        self, contract: Contract, *, references: References = "none"
    ) -> tuple[Graph, dict[str, Bundle | Unresolved]]:
        """The graph, and the bundles of its edges by reference."""
        fetched: dict[str, Found] = {}
        while True:
            found = resolve(contract, fetched, references=references)
            if not found.missing:
                return found.graph, fetched
            wanted = {each: self.dependency(each.ref, each.compatibility) for each in found.missing}
            fetched |= {each.ref: bundle for each, bundle in (await _together(wanted)).items()}

    async def lock(self, contract: Contract, *, tool_version: str) -> Lock:
        """The lock as of now; raises `LockError`."""
        fetched: dict[Place, Found] = {}
        while True:
            found = build_lock(contract, fetched, tool_version=tool_version, is_local=self._root is not None)
            if found.lock is not None:
                return found.lock
            fetched |= await _together({each: self._place(each) for each in found.missing})

    async def validate(self, parsed: Parsed, files: Files | None, *, gate_on: date | None = None) -> Validation:
        """Validate with all policies, also those of other bundles."""
        fetched: dict[str, Found] = {}
        while True:
            found = validate(parsed, files, fetched=fetched, gate_on=gate_on)
            if not found.missing:
                return found
            fetched |= await _together({each: self.policy(each) for each in found.missing})

    async def dependency(self, ref: str, constraint: str = "") -> Found:
        if not is_oci(ref):
            return self._local(ref, (self._root,))
        return self._sibling(ref) or await self._pulled(ref, constraint)

    async def policy(self, ref: str) -> Found:
        """A directory is relative to the contract; if there is none, to the working directory, as in the original."""
        return await self._pulled(ref) if is_oci(ref) else self._local(ref, (self._root, os.curdir))

    async def _place(self, place: Place) -> Found:
        if place.path:
            return self._local(place.path, (self._root,))
        return await self._pulled(place.ref, place.constraint)

    def _local(self, ref: str, bases: Sequence[str | None]) -> Found:
        if self._root is None:
            return _NO_DIRECTORY
        # os.path.join keeps an absolute path as it is.
        paths = [os.path.normpath(os.path.join(base, location(ref))) for base in bases if base is not None]
        found = next((each for each in paths if os.path.isdir(each)), paths[0])
        return _read(found)

    async def _pulled(self, ref: str, constraint: str = "") -> Found:
        return _NO_REGISTRY if self._pulls is None else await self._pulls(ref, constraint)

    def _sibling(self, ref: str) -> Found | None:
        name = last_segment(ref)
        if self._siblings is None or name in ("", ".", ".."):
            return None
        path = os.path.join(self._siblings, name)
        found = _read(path) if os.path.isfile(os.path.join(path, CONTRACT_FILE)) else None
        return found if isinstance(found, Bundle) else None


def _read(path: str) -> Found:
    try:
        files = Directory(path)
        return Bundle(load(files).contract, files)
    except (SourceError, ParseError) as error:
        return Unresolved(f"{path}: {error}" if isinstance(error, ParseError) else str(error))


async def _together(wanted: Mapping[K, Coroutine[None, None, Found]]) -> dict[K, Found]:
    async with asyncio.TaskGroup() as tasks:
        running = {key: tasks.create_task(each) for key, each in wanted.items()}
    return {key: each.result() for key, each in running.items()}

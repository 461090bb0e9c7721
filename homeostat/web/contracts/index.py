"""An in-memory index of Pactos and PactoRevisions, kept current by watches: each change costs what it changes.

    index = ServiceIndex(client, namespace="")
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(index.run())
        await index.synced()
        (await index.view(None)).list_body()                # all services
        (await index.view(frozenset({"shop"}))).get("cart") # as somebody sees it who may read one namespace

There is one catalogue for those who may read everything, and one for each set of namespaces that somebody may read. The
catalogues of few such sets are kept; another one is made of what is there when it is first used. Each notes what it has
to take over, and does so in slices of a few milliseconds when somebody reads it: a Pacto may have thousands of
dependencies, and all catalogues together take one slice in a turn of the event loop.

A first list, or one after a lost watch, has thousands of Pactos, and each takes 0.1 ms to read. They are noted at once
and read in portions between other work of the event loop; the index is synced when the last portion is left.
"""

from __future__ import annotations

import asyncio
from collections import Counter, OrderedDict
from collections.abc import Iterable, Iterator
from itertools import islice
from time import perf_counter
from typing import Final, Never

import msgspec

from homeostat.client.base import Client
from homeostat.operators.contracts.api import PACTO, PACTO_REVISION
from homeostat.operators.contracts.engine.services.catalogue import Catalogue
from homeostat.operators.contracts.engine.services.history import Recorded, latest_version
from homeostat.operators.contracts.engine.services.instance import Instance, Key, read_instance
from homeostat.operators.contracts.live.projections import SeenMetadata
from homeostat.operators.contracts.spec import ContractRef, RevisionSource
from homeostat.runtime.background import background
from homeostat.runtime.cache.cache import Change
from homeostat.runtime.cache.informer import Informers
from homeostat.runtime.watch.source import Source
from homeostat.web.kit.walks import SLICE_S

MOST_VIEWS: Final = 32
PORTION: Final = 50
"""So many Pactos are read at once."""
_PORTION_BYTES: Final = 256 * 1024
"""Of their statuses, after which no further one is: each may have thousands of dependencies."""
_NOTHING: Final = msgspec.Raw(b"")

Namespaces = frozenset[str] | None
"""None for all."""


class _Part(msgspec.Struct, frozen=True, rename="camel", gc=False):
    pass


class _Target(_Part, frozen=True):
    service_name: str = ""


class _Spec(_Part, frozen=True):
    contract_ref: ContractRef = ContractRef()
    target: _Target | None = None


class PactoEntry(_Part, frozen=True):
    metadata: SeenMetadata
    spec: _Spec = _Spec()
    status: msgspec.Raw = _NOTHING

    @property
    def oci(self) -> str:
        """Empty for an inline contract, which counts alone."""
        return "" if self.spec.contract_ref.inline else self.spec.contract_ref.oci

    def instance(self) -> Instance:
        target = self.spec.target
        return read_instance(
            self.metadata.namespace,
            self.metadata.name,
            status=bytes(self.status),
            oci=self.oci,
            pull_secret=self.spec.contract_ref.pull_secret_ref,
            target=target.service_name if target is not None else "",
        )


class _RevisionSpec(_Part, frozen=True):
    version: str = ""
    source: RevisionSource = RevisionSource()
    pacto_ref: str = ""


class _RevisionStatus(_Part, frozen=True):
    contract_hash: str = ""
    created_at: str | None = None


class RevisionEntry(_Part, frozen=True):
    metadata: SeenMetadata
    spec: _RevisionSpec = _RevisionSpec()
    status: _RevisionStatus = _RevisionStatus()

    @property
    def pacto(self) -> Key:
        return self.metadata.namespace, self.spec.pacto_ref

    def recorded(self) -> Recorded:
        source = self.spec.source
        return Recorded(
            version=self.spec.version,
            ref=source.oci,
            digest=source.digest,
            contract_hash=self.status.contract_hash,
            created_at=self.status.created_at,
            is_inline=bool(source.inline),
        )


class _View:
    """A catalogue, and the Pactos that it has to take over."""

    def __init__(self, behind: Iterable[Key] = ()) -> None:
        self.catalogue = Catalogue()
        self.behind = dict.fromkeys(behind)


class ServiceIndex:
    """`namespace` is the only one that is watched; empty for all."""

    def __init__(self, client: Client, *, namespace: str = "") -> None:
        self._informers = Informers(client)
        self._pactos = self._informers.get(Source(PACTO.kind.path(namespace)), PactoEntry)
        self._revisions = self._informers.get(Source(PACTO_REVISION.kind.path(namespace)), RevisionEntry)
        self._all = _View()
        self._views: OrderedDict[frozenset[str], _View] = OrderedDict()
        self._turn = asyncio.Lock()
        self._namespaces: Counter[str] = Counter()
        self._unbound: dict[Key, Instance] = {}
        self._by_pacto: dict[Key, dict[str, RevisionEntry]] = {}
        self._instances: dict[Key, Instance] = {}
        self._behind: dict[Key, None] = {}
        """Pactos that changed, or whose revisions did, and that were not read since."""
        self._has_more = asyncio.Event()
        self._pactos.add_handler(self._note_pacto)
        self._revisions.add_handler(self._note_revision)

    async def run(self) -> Never:
        async with background(self._read_behind()):
            await self._informers.run()

    async def synced(self) -> None:
        """Returns when all existing objects are in the index. The caller sets the timeout."""
        await self._informers.synced()
        while len(self._behind) > PORTION:
            self._catch_up(PORTION)
            await asyncio.sleep(0)

    @property
    def is_synced(self) -> bool:
        return all(each.cache.is_synced for each in self._informers) and len(self._behind) <= PORTION

    @property
    def namespaces(self) -> list[str]:
        """Those that have a Pacto."""
        return sorted(self._namespaces)

    async def view(self, namespaces: Namespaces) -> Catalogue:
        self._catch_up(PORTION)
        view = self._all if namespaces is None else self._kept(namespaces)
        await self._take_over(view)
        return view.catalogue

    def pacto(self, key: Key) -> PactoEntry | None:
        return self._pactos.cache.readable(*key)

    def revisions(self, key: Key) -> list[RevisionEntry]:
        return list(self._by_pacto.get(key, {}).values())

    def revision(self, key: Key, name: str) -> RevisionEntry | None:
        return self._by_pacto.get(key, {}).get(name)

    def show_unbound(self, instance: Instance) -> None:
        """A contract that no Pacto binds; everybody may read it."""
        self._unbound[instance.key] = instance
        for each in self._views_of():
            each.behind[instance.key] = None

    def _kept(self, namespaces: frozenset[str]) -> _View:
        found = self._views.get(namespaces)
        if found is None:
            there = (each for each in {**self._instances, **self._by_pacto} if each[0] in namespaces)
            found = self._views[namespaces] = _View([*there, *self._unbound])
            if len(self._views) > MOST_VIEWS:
                self._views.popitem(last=False)
        self._views.move_to_end(namespaces)
        return found

    def _views_of(self, namespace: str = "") -> Iterator[_View]:
        """Those that show a namespace; empty for those of all namespaces."""
        yield self._all
        yield from (view for shown, view in self._views.items() if not namespace or namespace in shown)

    async def _take_over(self, view: _View) -> None:
        """What the catalogue has to take over now; others may change it meanwhile, for ever."""
        left = len(view.behind)
        while left > 0 and view.behind:
            async with self._turn:
                left -= self._take_some(view)
                # Whoever waits for the lock gets it in the next turn.
                await asyncio.sleep(0)

    def _take_some(self, view: _View) -> int:
        there, ends_at = list(islice(view.behind, PORTION)), perf_counter() + SLICE_S
        for at, key in enumerate(there, 1):
            del view.behind[key]
            instance = self._instances.get(key) or self._unbound.get(key)
            if instance is not None:
                view.catalogue.put(instance)
            else:
                view.catalogue.remove(key)
            view.catalogue.set_latest(key, _latest(self._by_pacto.get(key, {})))
            if perf_counter() >= ends_at:
                return at
        return len(there)

    def _note_pacto(self, change: Change[PactoEntry]) -> None:
        key = (change.namespace, change.name)
        self._namespaces[change.namespace] += (change.new is not None) - (change.old is not None)
        if not self._namespaces[change.namespace]:
            del self._namespaces[change.namespace]
        self._defer(key)

    def _note_revision(self, change: Change[RevisionEntry]) -> None:
        touched = {each.pacto for each in (change.old, change.new) if each is not None}
        if change.old is not None:
            kept = self._by_pacto[change.old.pacto]
            del kept[change.name]
            if not kept:
                del self._by_pacto[change.old.pacto]
        if change.new is not None:
            self._by_pacto.setdefault(change.new.pacto, {})[change.name] = change.new
        for key in touched:
            self._defer(key)

    def _defer(self, key: Key) -> None:
        self._behind[key] = None
        self._has_more.set()

    async def _read_behind(self) -> Never:
        while True:
            await self._has_more.wait()
            self._has_more.clear()
            while self._behind:
                self._catch_up(PORTION)
                await asyncio.sleep(0)
            await self._take_over(self._all)

    def _catch_up(self, most: int) -> None:
        size = 0
        for key in list(islice(self._behind, most)):
            if size > _PORTION_BYTES:
                return
            del self._behind[key]
            found = self._pactos.cache.readable(*key)
            if found is not None:
                size += len(found.status)
                self._instances[key] = found.instance()
            else:
                self._instances.pop(key, None)
            for each in self._views_of(key[0]):
                each.behind[key] = None


def _latest(revisions: dict[str, RevisionEntry]) -> str:
    return latest_version(each.spec.version for each in revisions.values())

"""All services, kept current one Pacto at a time: lists, dependents, references and the graph. Pure.

    catalogue = Catalogue()
    catalogue.put(instance)
    catalogue.list_body()                  # JSON, made of parts that are encoded once a change

A service is a name in a contract. Several Pactos may have it, in several namespaces; the worst one stands for all.
A dependency names a repository. It means the service of that name; else the one whose image or chart has that name;
else the name without `-pacto`. So a new service may change where the edges of others lead, and only those that name
it are looked up again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import msgspec

from homeostat.operators.contracts.engine.reference import last_segment
from homeostat.operators.contracts.engine.services.blast_radius import BlastRadius
from homeostat.operators.contracts.engine.services.history import is_update
from homeostat.operators.contracts.engine.services.instance import Instance, Key, Reference


class Listed(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """An entry of the list of services."""

    name: str
    version: str
    owner: Any
    contract_status: str
    source: str
    sources: list[str]
    namespace: str
    dependency_count: int
    checks_passed: int
    checks_total: int
    checks_failed: int
    compliance_status: str
    compliance_score: int | None
    compliance_errors: int
    compliance_warnings: int
    top_insight: str
    update_available: bool
    instances: int
    readiness: Any = None
    blast_radius: int = 0


class Drawn(msgspec.Struct, frozen=True):
    """A node of the graph as JSON, and the names outside of the catalogue that it leads to, with the reason."""

    node: bytes
    outside: dict[str, str]


class Service:
    """A name, and the Pactos whose contract has it. What they have in common is counted, not collected each time."""

    __slots__ = ("_primary", "aliases", "drawn", "encoded", "instances", "name", "required", "segments")

    def __init__(self, name: str) -> None:
        self.name = name
        self.instances: dict[Key, Instance] = {}
        self.aliases: Counter[str] = Counter()
        """Names of its images and charts."""
        self.segments: Counter[str] = Counter()
        """Names that its dependencies and references use."""
        self.required: Counter[str] = Counter()
        """Names that its required dependencies use."""
        self.encoded = b""
        """Its entry in the list, as JSON; empty if it has to be made."""
        self.drawn: Drawn | None = None
        self._primary: Instance | None = None

    @property
    def primary(self) -> Instance:
        if self._primary is None:
            self._primary = min(self.instances.values(), key=lambda each: each.rank)
        return self._primary

    def forget(self) -> None:
        """What was derived has to be made again."""
        self.encoded, self.drawn, self._primary = b"", None, None

    def references(self) -> list[Reference]:
        return list(dict.fromkeys(found for each in self.instances.values() for found in each.references))

    def count(self, instance: Instance, times: int) -> None:
        for each in instance.names:
            _count(self.aliases, each, times)
        for dependency in instance.dependencies:
            segment = last_segment(dependency.ref)
            _count(self.segments, segment, times)
            if dependency.required:
                _count(self.required, segment, times)
        for reference in instance.references:
            _count(self.segments, last_segment(reference.ref), times)


class Catalogue:
    def __init__(self) -> None:
        self.services: dict[str, Service] = {}
        self.version = 0
        """Grows with each change."""
        self._names: dict[Key, str] = {}
        self._latest: dict[Key, str] = {}
        self._owners: dict[str, set[str]] = {}
        """Services by the names of their images and charts."""
        self._users: dict[str, set[str]] = {}
        """Services by the names that their dependencies and references use."""
        self._reach = BlastRadius()
        self._body: tuple[int, bytes] = (-1, b"")
        self._order: list[str] = []

    def __len__(self) -> int:
        return len(self.services)

    def put(self, instance: Instance) -> None:
        if self._names.get(instance.key, instance.service) != instance.service:
            self.remove(instance.key)
        service = self.services.get(instance.service)
        old = service.instances.get(instance.key) if service is not None else None
        if old == instance:
            return
        before = self._meanings(instance.service, instance, old)
        if service is None:
            service = self.services[instance.service] = Service(instance.service)
            self._order = []
        self._names[instance.key] = instance.service
        service.instances[instance.key] = instance
        self._change(service, old, instance, before, is_new=len(service.instances) == 1 and old is None)

    def remove(self, key: Key) -> None:
        service = self.services.get(self._names.pop(key, ""))
        if service is None:
            return
        old = service.instances.pop(key)
        before = self._meanings(service.name, old)
        if not service.instances:
            del self.services[service.name]
            self._order = []
        self._change(service, old, None, before, is_new=False)

    def set_latest(self, key: Key, version: str) -> None:
        """The newest version that is known of a Pacto's contract; empty for none."""
        if self._latest.get(key, "") == version:
            return
        if version:
            self._latest[key] = version
        else:
            del self._latest[key]
        service = self.services.get(self._names.get(key, ""))
        if service is not None:
            service.encoded = b""
            self.version += 1

    def latest(self, key: Key) -> str:
        return self._latest.get(key, "")

    def get(self, name: str) -> Service | None:
        return self.services.get(name)

    def in_order(self) -> Iterator[Service]:
        if len(self._order) != len(self.services):
            self._order = sorted(self.services)
        return (self.services[each] for each in self._order)

    def target_of(self, ref: str) -> str:
        """The name of the service that a reference means; there may be no such service."""
        return self._target(last_segment(ref))

    def radius(self, name: str) -> int:
        return self._reach.radius(name)

    def steps_to(self, name: str) -> dict[str, int]:
        """The services that require this one, the nearest first, each with the number of steps to it."""
        return self._reach.steps_to(name)

    def users_of(self, name: str) -> list[Service]:
        """The services that depend on this one or refer to it."""
        service = self.services.get(name)
        segments = {name, f"{name}-pacto", *(service.aliases if service is not None else ())}
        meant = (each for each in segments if self._target(each) == name)
        return [self.services[each] for each in sorted({user for each in meant for user in self._users.get(each, ())})]

    def list_body(self) -> bytes:
        """The whole list, as JSON."""
        if self._body[0] != self.version:
            self.refresh()
            self._body = (
                self.version,
                b"[%b]" % b",".join([each.encoded or self.entry(each) for each in self.in_order()]),
            )
        return self._body[1]

    def refresh(self) -> None:
        """Compute radii that changed, before several entries are read."""
        for name in self._reach.refresh():
            if (service := self.services.get(name)) is not None:
                service.encoded = b""

    def entry(self, service: Service) -> bytes:
        """The entry of a service in the list, as JSON."""
        if not service.encoded:
            service.encoded = msgspec.json.encode(self._listed(service))
        return service.encoded

    def _listed(self, service: Service) -> Listed:
        first = service.primary
        compliance, (total, passed, failed) = first.compliance, first.checks
        return Listed(
            name=service.name,
            version=first.version,
            owner=first.owner,
            contract_status=first.status,
            source=first.sources[0],
            sources=first.sources,
            namespace=first.namespace,
            dependency_count=len(first.dependencies),
            checks_passed=passed,
            checks_total=total,
            checks_failed=failed,
            compliance_status=compliance.status,
            compliance_score=compliance.score,
            compliance_errors=compliance.errors,
            compliance_warnings=compliance.warnings,
            top_insight=first.insights[0].title if first.insights else "",
            update_available=is_update(self.latest(first.key), first.version),
            instances=len(service.instances),
            readiness=first.readiness,
            blast_radius=self._reach.radius(service.name),
        )

    def _meanings(self, name: str, *instances: Instance | None) -> dict[str, str]:
        """The services that these names mean now: those of a service, its images and charts."""
        names = {name, *(each for one in instances if one is not None for each in one.names)}
        return {each: self._target(each) for each in names}

    def _change(
        self, service: Service, old: Instance | None, new: Instance | None, before: dict[str, str], *, is_new: bool
    ) -> None:
        aliases, segments = set(service.aliases), set(service.segments)
        if new is not None:
            service.count(new, 1)
        if old is not None:
            service.count(old, -1)
        service.forget()
        self.version += 1
        _move(self._users, service.name, segments, set(service.segments))
        moved = _move(self._owners, service.name, aliases, set(service.aliases))
        if is_new or not service.instances:
            moved.add(service.name)
        for user in {user for each in moved for user in self._users.get(each, ())}:
            # What is drawn of it says whether there is a service of this name.
            self.services[user].drawn = None
        # A service that is new mostly has the name that others use already, and their edges stay.
        shifted = [each for each in moved if self._target(each) != before[each]]
        for name in {service.name, *(user for each in shifted for user in self._users.get(each, ()))}:
            self._connect(name)

    def _connect(self, name: str) -> None:
        service = self.services.get(name)
        if service is None:
            self._reach.require(name, ())
            return
        # Its edges may lead elsewhere now.
        service.drawn = None
        self._reach.require(name, {self._target(each) for each in service.required})

    def _target(self, segment: str) -> str:
        if segment in self.services:
            return segment
        owners = self._owners.get(segment)
        return min(owners) if owners else segment.removesuffix("-pacto")


def _count(counts: Counter[str], name: str, times: int) -> None:
    counts[name] += times
    if not counts[name]:
        del counts[name]


def _move(index: dict[str, set[str]], name: str, before: set[str], after: set[str]) -> set[str]:
    """Have the index list a name under other keys; the keys that changed."""
    for each in after - before:
        index.setdefault(each, set()).add(name)
    for each in before - after:
        index[each].discard(name)
        if not index[each]:
            del index[each]
    return before ^ after

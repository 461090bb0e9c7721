"""Questions about many contracts: can this version be deployed, and which services does a change affect? Pure."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Collection, Iterable, Mapping
from typing import Literal

import msgspec

from homeostat.objects.versions.constraint import InvalidConstraintError, parse_constraint
from homeostat.objects.versions.semver import parse_version
from homeostat.operators.contracts.engine.document.contract import Contract, Dependency
from homeostat.operators.contracts.engine.reference import last_segment


class Obstacle(msgspec.Struct, frozen=True, kw_only=True):
    """A dependency between two services that is not satisfied."""

    service: str
    """The service that depends on the other."""
    dependency: str
    wanted: str
    """The range of versions."""
    running: str = ""
    """The running version; empty if the service does not run."""
    is_required: bool
    reason: Literal["NotRunning", "Incompatible"]

    def __str__(self) -> str:
        found = f"{self.running} runs" if self.running else "it does not run"
        return f"{self.service} needs {self.dependency} {self.wanted}; {found}"


class Affected(msgspec.Struct, frozen=True, kw_only=True):
    """A service that a change of another affects."""

    service: str
    via: str
    """The dependency over which it is affected: the changed service, or another affected one."""
    distance: int
    """1 for a direct dependent."""
    is_required: bool
    """Whether all dependencies on the way are required."""


def dependency_target(dependency: Dependency, aliases: Mapping[str, str] | None = None) -> str:
    """Return the service name of a dependency; `aliases` map names of images and charts to services."""
    name = last_segment(dependency.ref)
    return (aliases or {}).get(name, name.removesuffix("-pacto"))


def can_deploy(contract: Contract, running: Mapping[str, Collection[str]]) -> list[Obstacle]:
    """Return the dependencies that the running versions do not satisfy. A service may run in several versions: each has
    to fit, because a request may reach any of them.
    """
    return [
        obstacle
        for each in contract.dependencies
        for version in sorted(running.get(dependency_target(each), ())) or [""]
        if (obstacle := _obstacle(contract, each, version)) is not None
    ]


def broken_by(name: str, version: str, contracts: Iterable[Contract]) -> list[Obstacle]:
    """Return the dependencies on a service that a version of it does not satisfy."""
    found = []
    for contract in contracts:
        for each in contract.dependencies:
            if dependency_target(each) == name and contract.service.name != name:
                obstacle = _obstacle(contract, each, version)
                if obstacle is not None:
                    found.append(obstacle)
    return found


def affected_by(name: str, contracts: Iterable[Contract]) -> list[Affected]:
    """Return the services that depend on this one, nearest first. One that is reached over required dependencies alone
    is affected; over an optional dependency it may be.
    """
    dependents: dict[str, dict[str, bool]] = defaultdict(dict)
    for contract in contracts:
        for each in contract.dependencies:
            known = dependents[dependency_target(each)]
            known[contract.service.name] = known.get(contract.service.name, False) or each.required
    found: dict[str, Affected] = {}
    # Ways of required dependencies first: they decide how a service is affected.
    for only_required in (True, False):
        waiting = deque([(name, 0), *((each.service, each.distance) for each in found.values())])
        while waiting:
            via, distance = waiting.popleft()
            for service, is_required in sorted(dependents[via].items()):
                if service != name and service not in found and (is_required or not only_required):
                    found[service] = Affected(
                        service=service, via=via, distance=distance + 1, is_required=only_required
                    )
                    waiting.append((service, distance + 1))
    return sorted(found.values(), key=lambda each: (not each.is_required, each.distance, each.service))


def _obstacle(contract: Contract, dependency: Dependency, running: str) -> Obstacle | None:
    if running and _fits(running, dependency.compatibility):
        return None
    return Obstacle(
        service=contract.service.name,
        dependency=dependency_target(dependency),
        wanted=dependency.compatibility,
        running=running,
        is_required=dependency.required,
        reason="Incompatible" if running else "NotRunning",
    )


def _fits(version: str, constraint: str) -> bool:
    found = parse_version(version)
    try:
        return found is not None and parse_constraint(constraint).allows(found)
    except InvalidConstraintError:
        return False

"""Questions about many contracts: can this version be deployed, and which services does a change affect? Pure."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable, Mapping
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


def dependency_target(dependency: Dependency, aliases: Mapping[str, str] | None = None) -> str:
    """Return the service name of a dependency; `aliases` map names of images and charts to services."""
    name = last_segment(dependency.ref)
    return (aliases or {}).get(name, name.removesuffix("-pacto"))


def can_deploy(contract: Contract, running: Mapping[str, str]) -> list[Obstacle]:
    """Return the dependencies that the running versions (by service) do not satisfy."""
    found = []
    for each in contract.dependencies:
        obstacle = _obstacle(contract, each, running.get(dependency_target(each), ""))
        if obstacle is not None:
            found.append(obstacle)
    return found


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


def blast_radius(name: str, contracts: Iterable[Contract]) -> frozenset[str]:
    """Return the services that require this one, directly or transitively."""
    dependents: dict[str, set[str]] = defaultdict(set)
    for contract in contracts:
        for each in contract.dependencies:
            if each.required:
                dependents[dependency_target(each)].add(contract.service.name)
    reached: set[str] = set()
    waiting = deque([name])
    while waiting:
        new = dependents[waiting.popleft()] - reached
        reached |= new
        waiting += new
    return frozenset(reached - {name})


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

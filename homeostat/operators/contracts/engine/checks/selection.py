"""Chooses the Service and the workload of a contract among objects that may be many. Pure.

The caller may name both. Otherwise the names of the contract's service decide, then a Service that selects the Pods of
the workload, then the only object of its sort. A choice between several is refused, not guessed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import msgspec

from homeostat.objects.json import JsonObject
from homeostat.operators.contracts.engine.checks.resources import Target, target_of
from homeostat.operators.contracts.engine.checks.snapshot import DEPLOYMENT, KINDS
from homeostat.operators.contracts.engine.document.contract import Contract

SERVICE: Final = "Service"
GROUPS: Final[Mapping[str, str]] = {
    SERVICE: "",
    **dict.fromkeys((DEPLOYMENT, "StatefulSet", "ReplicaSet"), "apps"),
    **dict.fromkeys(("Job", "CronJob"), "batch"),
}
"""The API groups of the kinds that the checks read."""
_EXPECTED: Final = {"job": "Job", "scheduled": "CronJob"}


class AmbiguousTargetError(ValueError):
    """Several objects could be the target; the text says how to choose one."""


class Candidate(msgspec.Struct, frozen=True):
    """An object that may be the Service or the workload of a contract."""

    kind: str
    name: str
    namespace: str
    value: JsonObject
    source: str = ""
    line: int = 1


class Selection(msgspec.Struct, frozen=True):
    """The target, and its objects where they exist."""

    target: Target
    namespace: str
    service: Candidate | None = None
    workload: Candidate | None = None


def read_candidate(value: JsonObject, *, source: str = "", line: int = 1) -> Candidate | None:
    """Return the object as a candidate; None if it is of another kind, or has no name."""
    kind, version = value.get("kind"), value.get("apiVersion")
    metadata = value.get("metadata")
    if not isinstance(kind, str) or not isinstance(version, str) or not isinstance(metadata, dict):
        return None
    name, namespace = metadata.get("name"), metadata.get("namespace") or ""
    if GROUPS.get(kind) != version.rpartition("/")[0] or not isinstance(name, str) or not isinstance(namespace, str):
        return None
    return Candidate(kind, name, namespace, value, source, line)


def select(
    contract: Contract,
    candidates: Sequence[Candidate],
    *,
    service: str = "",
    workload: tuple[str, str] | None = None,
    namespace: str = "",
) -> Selection:
    """Choose the target; `workload` is name and kind. Raises `AmbiguousTargetError`."""
    found = [each for each in candidates if not namespace or each.namespace in ("", namespace)]
    services = [each for each in found if each.kind == SERVICE]
    workloads = [each for each in found if each.kind != SERVICE]
    if service or workload is not None:
        target = target_of(service, workload)
        assert target is not None
        runs = _only([each for each in workloads if (each.kind, each.name) == (target.kind, target.workload)])
        serves = _only([each for each in services if each.name == service]) if service else None
    else:
        runs = _choose_workload(contract, workloads)
        serves = _choose_service(contract, services, runs)
        target = _target(contract, serves, runs)
    where = next((each.namespace for each in (runs, serves) if each is not None and each.namespace), namespace)
    return Selection(target, where, serves, runs)


def _target(contract: Contract, service: Candidate | None, workload: Candidate | None) -> Target:
    """A missing object is expected under the name of the contract's service."""
    name = contract.service.name
    expected = name if any(each.port is not None for each in contract.interfaces) else ""
    kind = _EXPECTED.get(contract.runtime.workload, DEPLOYMENT) if contract.runtime is not None else DEPLOYMENT
    return Target(
        name if workload is None else workload.name,
        kind if workload is None else workload.kind,
        expected if service is None else service.name,
    )


def _choose_workload(contract: Contract, workloads: Sequence[Candidate]) -> Candidate | None:
    named = [each for each in workloads if each.name == contract.service.name]
    chosen = named or workloads
    return _only(sorted(chosen, key=lambda each: KINDS.index(each.kind)), option="--workload KIND/NAME")


def _choose_service(contract: Contract, services: Sequence[Candidate], workload: Candidate | None) -> Candidate | None:
    named = [each for each in services if each.name == contract.service.name]
    if named or all(each.port is None for each in contract.interfaces):
        return _only(named)
    selecting = [] if workload is None else [each for each in services if _selects(each, workload)]
    return _only(selecting or services, option="--service NAME")


def _selects(service: Candidate, workload: Candidate) -> bool:
    wanted = _map(service.value, "spec", "selector")
    labels = _map(workload.value, "spec", "template", "metadata", "labels")
    return bool(wanted) and wanted.items() <= labels.items()


def _only(found: Iterable[Candidate], *, option: str = "") -> Candidate | None:
    distinct = list({(each.kind, each.namespace, each.name): each for each in found}.values())
    if len(distinct) < 2:
        return distinct[0] if distinct else None
    if len({(each.kind, each.name) for each in distinct}) == 1:
        listed = ", ".join(sorted({each.namespace or "none" for each in distinct}))
        first = distinct[0]
        raise AmbiguousTargetError(f"{first.kind}/{first.name} is in several namespaces ({listed}); choose one with -n")
    listed = ", ".join(f"{each.kind}/{each.name}" for each in distinct[:5])
    more = f" and {len(distinct) - 5} more" if len(distinct) > 5 else ""
    raise AmbiguousTargetError(f"the contract could be for {listed}{more}; choose with {option}")


def _map(value: object, *path: str) -> dict[str, object]:
    for name in path:
        value = value.get(name) if isinstance(value, dict) else None
    return value if isinstance(value, dict) else {}

"""What the stored status of a Pacto says, for a process that has just started and has asked nobody yet. Pure.

A restart must not change a verdict: until an endpoint or a registry has answered, its last answer counts. The status
has it, unless the Pacto changed since.
"""

from __future__ import annotations

import msgspec

from homeostat.operators.contracts.api import Pacto
from homeostat.operators.contracts.engine.checks.endpoint import EMPTY_RESPONSE, Outcome
from homeostat.operators.contracts.engine.checks.served import Drift


class _Endpoint(msgspec.Struct, frozen=True, rename="camel"):
    url: str = ""
    reachable: bool = False
    status_code: int = 0
    latency_ms: int = 0
    error: str = ""


class _Condition(msgspec.Struct, frozen=True):
    reason: str = ""


class _Drift(msgspec.Struct, frozen=True, rename="camel"):
    interface: str = ""
    url: str = ""
    breaking: int = 0
    potentially_breaking: int = 0
    non_breaking: int = 0
    changes: tuple[str, ...] = ()


class _Stored(msgspec.Struct, frozen=True, rename="camel"):
    observed_generation: int = 0
    contract_version: str = ""
    endpoints: dict[str, _Endpoint] = {}
    conditions: tuple[_Condition, ...] = ()
    api_drift: tuple[_Drift, ...] = ()


def is_loaded(pacto: Pacto) -> bool:
    """Whether the contract that the Pacto names now was loaded and valid before."""
    stored = _stored(pacto)
    return stored is not None and stored.contract_version != ""


def outcomes_of(pacto: Pacto) -> dict[str, Outcome]:
    """The last results of endpoints, by URL."""
    stored = _stored(pacto)
    if stored is None:
        return {}
    has_body = all(each.reason != EMPTY_RESPONSE for each in stored.conditions)
    return {
        each.url: Outcome(status_code=each.status_code, has_body=has_body, latency_ms=each.latency_ms, error=each.error)
        for each in stored.endpoints.values()
        if each.reachable != bool(each.error)
    }


def drifts_of(pacto: Pacto) -> dict[tuple[str, str], Drift]:
    """The last comparisons of OpenAPI documents, by interface and URL."""
    stored = _stored(pacto)
    found = () if stored is None else stored.api_drift
    return {
        (each.interface, each.url): Drift(
            interface=each.interface,
            url=each.url,
            breaking=each.breaking,
            potentially_breaking=each.potentially_breaking,
            non_breaking=each.non_breaking,
            changes=each.changes,
        )
        for each in found
    }


def _stored(pacto: Pacto) -> _Stored | None:
    """None if there is no status of this generation."""
    try:
        stored = msgspec.json.decode(pacto.status or b"{}", type=_Stored)
    except msgspec.ValidationError:
        return None
    return stored if stored.observed_generation == pacto.metadata.generation else None

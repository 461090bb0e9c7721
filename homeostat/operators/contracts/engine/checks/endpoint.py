"""The health and metrics endpoints of a contract: where to probe, and what an answer means. Pure.

This module does not send requests. An endpoint that was not probed yet has the status Unknown, which does not lower
the contract status.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal

import msgspec

from homeostat.objects.json import JsonObject
from homeostat.operators.contracts.engine.checks.verdict import Verdict, judge
from homeostat.operators.contracts.engine.document.contract import Contract, Health, Metrics

TIMEOUT_S: Final = 5.0
EMPTY_RESPONSE: Final = "EmptyResponse"
"""The reason of a metrics endpoint that answers without a body."""

Name = Literal["health", "metrics"]
_CHECKS: Final[dict[Name, str]] = {"health": "HealthEndpointValid", "metrics": "MetricsEndpointValid"}


class Probe(msgspec.Struct, frozen=True):
    """A request to send: always GET, without following redirects."""

    name: Name
    url: str


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a request: a status code, or the error if there was no answer."""

    status_code: int = 0
    has_body: bool = False
    latency_ms: int = 0
    error: str = ""
    document: bytes = b""
    """The body, compressed with zlib, if it was requested."""

    @property
    def is_reachable(self) -> bool:
        return not self.error


class Endpoints(msgspec.Struct, frozen=True):
    probes: tuple[Probe, ...] = ()
    refused: tuple[Verdict, ...] = ()
    """Verdicts on endpoints that cannot be probed."""


def plan_probes(contract: Contract, service: str, namespace: str) -> Endpoints:
    """Return what to probe; call this only if the Service exists."""
    runtime = contract.runtime
    declared: list[tuple[Name, Health | Metrics | None]] = []
    if runtime is not None:
        declared = [("health", runtime.health), ("metrics", runtime.metrics)]
    probes, refused = [], []
    for name, endpoint in declared:
        if endpoint is None or not endpoint.interface:
            continue
        interface = contract.interface(endpoint.interface)
        if interface is None:
            message = f'{name} names the interface "{endpoint.interface}", which the contract does not declare'
            refused.append(judge(_CHECKS[name], False, message, reason="InterfaceNotFound"))
        elif interface.port is None:
            message = f'{name} names the interface "{interface.name}", which has no port'
            refused.append(judge(_CHECKS[name], False, message, reason="InterfaceHasNoPort"))
        else:
            probes.append(Probe(name, probe_url(service, namespace, interface.port, endpoint.path)))
    return Endpoints(tuple(probes), tuple(refused))


def probe_url(service: str, namespace: str, port: int, path: str) -> str:
    return f"http://{service}.{namespace}.svc:{port}/{path.removeprefix('/')}"


def judge_probe(probe: Probe, outcome: Outcome | None) -> Verdict:
    check = _CHECKS[probe.name]
    if outcome is None:
        return Verdict(check, "Unknown", "ProbePending", f"{probe.url} was not probed yet")
    if not outcome.is_reachable:
        return judge(check, False, f"{probe.url} is unreachable: {outcome.error}", reason="ConnectionFailed")
    code = outcome.status_code
    is_good = 200 <= code < 400 if probe.name == "health" else code == 200
    expected = "200 to 399" if probe.name == "health" else "200"
    if not is_good:
        return judge(check, False, f"{probe.url} answered {code}; expected {expected}", reason="InvalidStatusCode")
    if probe.name == "metrics" and not outcome.has_body:
        return judge(check, False, f"{probe.url} answered without metrics", reason=EMPTY_RESPONSE)
    return judge(check, True, f"{probe.url} answered {code}", good="OK")


def endpoint_fields(probes: tuple[Probe, ...], outcomes: Mapping[str, Outcome]) -> JsonObject:
    """Return `status.endpoints`: the results of probes by name."""
    return {probe.name: _fields(probe, outcomes[probe.url]) for probe in probes if probe.url in outcomes}


def _fields(probe: Probe, outcome: Outcome) -> JsonObject:
    fields: JsonObject = {"url": probe.url, "reachable": outcome.is_reachable}
    if outcome.status_code:
        fields["statusCode"] = outcome.status_code
    if outcome.latency_ms:
        fields["latencyMs"] = outcome.latency_ms
    if outcome.error:
        fields["error"] = outcome.error
    return fields

"""Checks that the Service, the workload and the ports of the interfaces exist. Pure."""

from __future__ import annotations

import msgspec

from homeostat.operators.contracts.engine.checks.snapshot import DEPLOYMENT, Snapshot
from homeostat.operators.contracts.engine.checks.verdict import Verdict, judge
from homeostat.operators.contracts.engine.document.contract import Contract


class Target(msgspec.Struct, frozen=True):
    """The Service and workload that a contract is bound to; without a Service only the workload is checked."""

    workload: str
    kind: str = DEPLOYMENT
    service: str = ""


class Ports(msgspec.Struct, frozen=True, omit_defaults=True):
    expected: tuple[int, ...] = ()
    observed: tuple[int, ...] = ()
    missing: tuple[int, ...] = ()
    unexpected: tuple[int, ...] = ()


def target_of(service: str, workload: tuple[str, str] | None) -> Target | None:
    """Return the target; None for a reference-only Pacto. `workload` is name and kind; it defaults to a Deployment
    with the name of the Service.
    """
    if workload is not None:
        return Target(workload[0], workload[1] or DEPLOYMENT, service)
    return Target(service, DEPLOYMENT, service) if service else None


def compare_ports(contract: Contract, snapshot: Snapshot) -> Ports:
    expected = tuple(each.port for each in contract.interfaces if each.port is not None)
    if snapshot.service_ports is None:
        return Ports(expected)
    observed = snapshot.service_ports
    return Ports(
        expected,
        observed,
        missing=tuple(each for each in expected if each not in observed),
        unexpected=tuple(each for each in observed if each not in expected),
    )


def check_resources(contract: Contract, target: Target, snapshot: Snapshot) -> list[Verdict]:
    verdicts = []
    if target.service:
        message = f'Service "{target.service}" {"exists" if snapshot.has_service else "does not exist"}'
        verdicts.append(judge("ServiceExists", snapshot.has_service, message, reason="NotFound", good="Found"))
    has_workload = snapshot.workload is not None
    message = f'{target.kind} "{target.workload}" {"exists" if has_workload else "does not exist"}'
    verdicts.append(judge("WorkloadExists", has_workload, message, reason="NotFound", good="Found"))
    if target.service and snapshot.has_service:
        ports = compare_ports(contract, snapshot)
        message = _missing_ports(target.service, ports) if ports.missing else "All ports of the interfaces exist"
        verdicts.append(judge("PortsValid", not ports.missing, message, reason="MissingPorts", good="AllPortsMatch"))
    return verdicts


def _missing_ports(service: str, ports: Ports) -> str:
    """Names the ports that the Service has, because the usual fault is a port with another number."""
    missing, observed = (", ".join(map(str, each)) for each in (ports.missing, ports.observed))
    return f'Service "{service}" lacks ports {missing}; it has {f"ports {observed}" if observed else "no ports"}'

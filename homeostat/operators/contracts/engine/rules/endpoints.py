"""Checks interfaces, and the interfaces that health and metrics refer to. Pure."""

from __future__ import annotations

from homeostat.operators.contracts.engine.document.contract import Contract, Health, Metrics
from homeostat.operators.contracts.engine.finding import Findings


def check_ports(contract: Contract, findings: Findings) -> None:
    for place, each in enumerate(contract.interfaces):
        if each.type == "event" and each.port is not None:
            problem = f'the event interface "{each.name}" has a port, which is not used; remove it'
            findings.warn("PORT_IGNORED", f"interfaces[{place}].port", problem)


def check_endpoints(contract: Contract, findings: Findings) -> None:
    if contract.runtime is None:
        return
    if contract.runtime.health is not None:
        _check_endpoint("health", contract.runtime.health, contract, findings)
    if contract.runtime.metrics is not None:
        _check_endpoint("metrics", contract.runtime.metrics, contract, findings)


def _check_endpoint(kind: str, endpoint: Health | Metrics, contract: Contract, findings: Findings) -> None:
    interface = contract.interface(endpoint.interface)
    code, path = kind.upper(), f"runtime.{kind}"
    if interface is None:
        names = ", ".join(each.name for each in contract.interfaces) or "none"
        problem = f'{kind} names the interface "{endpoint.interface}", which is not declared; declared are: {names}'
        findings.error(f"{code}_INTERFACE_NOT_FOUND", f"{path}.interface", problem)
    elif interface.type == "event":
        problem = f'{kind} names the event interface "{interface.name}"; expected an http or grpc interface'
        findings.error(f"{code}_INTERFACE_INVALID", f"{path}.interface", problem)
    elif interface.type == "http" and not endpoint.path:
        problem = f'{kind} needs a path, because the interface "{interface.name}" is http'
        findings.error(f"{code}_PATH_REQUIRED", f"{path}.path", problem)
    elif interface.type == "grpc" and endpoint.path:
        problem = f'{kind} has a path, which the grpc interface "{interface.name}" does not use; remove it'
        findings.warn(f"{code}_PATH_IGNORED", f"{path}.path", problem)

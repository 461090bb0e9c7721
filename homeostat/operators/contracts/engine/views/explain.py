"""Explains a contract as JSON fields and as text. Pure."""

from __future__ import annotations

from datetime import date

import msgspec

from homeostat.objects.json import JsonObject
from homeostat.operators.contracts.engine.document.contract import Contract, Interface, Owner, Runtime
from homeostat.operators.contracts.engine.readiness import Assessment, assess
from homeostat.operators.contracts.engine.views.readiness import readiness_fields, readiness_lines


def explain_fields(contract: Contract, today: date) -> JsonObject:
    """Return the explanation as JSON; owner and runtime are always present."""
    service, runtime = contract.service, contract.runtime or Runtime()
    owner = service.owner if isinstance(service.owner, str) else msgspec.to_builtins(service.owner or Owner())
    fields: JsonObject = {
        "name": service.name,
        "version": service.version,
        "owner": owner,
        "pactoVersion": contract.pacto_version,
        "runtime": {
            "workloadType": runtime.workload,
            "stateType": runtime.state.type,
            "scope": runtime.state.persistence.scope,
            "durability": runtime.state.persistence.durability,
            "dataCriticality": runtime.state.data_criticality,
        },
    }
    assessment = assess(contract, today)
    further = {
        "interfaces": interface_fields(contract),
        "dependencies": dependency_fields(contract),
        "scaling": scaling_fields(contract),
        "readiness": None if assessment is None else _readiness(assessment),
        "metadata": contract.metadata,
    }
    return fields | {key: value for key, value in further.items() if value}


def _readiness(assessment: Assessment) -> JsonObject:
    fields = readiness_fields(assessment)
    fields["checks"] = [{key: item for key, item in each.items() if key != "description"} for each in fields["checks"]]
    return {key: value for key, value in fields.items() if key != "revisions" or value}


def scaling_fields(contract: Contract) -> JsonObject:
    """Return the bounds, and the replicas if declared."""
    scaling = contract.scaling
    if scaling is None:
        return {}
    bounds = {"min": scaling.min, "max": scaling.max}
    return bounds if scaling.replicas is None else {"replicas": scaling.replicas, **bounds}


def interface_fields(contract: Contract) -> list[JsonObject]:
    found = []
    for each in contract.interfaces:
        fields: JsonObject = {"name": each.name, "type": each.type}
        if each.port is not None:
            fields["port"] = each.port
        if each.visibility:
            fields["visibility"] = each.visibility
        found.append(fields)
    return found


def dependency_fields(contract: Contract) -> list[JsonObject]:
    return [
        {"name": each.name, "ref": each.ref, "required": each.required, "compatibility": each.compatibility}
        for each in contract.dependencies
    ]


def explain_text(contract: Contract, today: date) -> str:
    service = contract.service
    lines = [f"Service: {service.name}@{service.version}"]
    if service.owner_display:
        lines.append(f"Owner: {service.owner_display}")
    lines.append(f"Pacto Version: {contract.pacto_version}")
    if contract.runtime is not None:
        state = contract.runtime.state
        lines += [
            "",
            "Runtime:",
            f"  Workload: {contract.runtime.workload}",
            f"  State: {state.type}",
            f"  Persistence: {state.persistence.scope}/{state.persistence.durability}",
            f"  Data Criticality: {state.data_criticality}",
        ]
    if contract.interfaces:
        lines += ["", f"Interfaces ({len(contract.interfaces)}):", *map(_interface_line, contract.interfaces)]
    if contract.dependencies:
        lines += ["", f"Dependencies ({len(contract.dependencies)}):"]
        for each in contract.dependencies:
            need = "required" if each.required else "optional"
            lines.append(f"  - {each.name}: {each.ref} ({each.compatibility}, {need})")
    if contract.scaling is not None:
        scaling = contract.scaling
        bounds = f"{scaling.min}-{scaling.max}" if scaling.replicas is None else f"{scaling.replicas} replicas"
        lines += ["", f"Scaling: {bounds}"]
    assessment = assess(contract, today)
    if assessment is not None:
        lines += ["", *readiness_lines(assessment)]
    return "\n".join(lines) + "\n"


def _interface_line(interface: Interface) -> str:
    parts = [interface.type]
    if interface.port is not None:
        parts.append(f"port {interface.port}")
    if interface.visibility:
        parts.append(interface.visibility)
    return f"  - {interface.name} ({', '.join(parts)})"

"""A contract explained: as JSON fields, and as text for a terminal. Pure."""

from __future__ import annotations

from datetime import date

import msgspec

from homeostat.objects.json import JsonObject
from homeostat.operators.contracts.engine.document.contract import Contract, Interface, Owner
from homeostat.operators.contracts.engine.readiness import assess
from homeostat.operators.contracts.engine.views.readiness import readiness_fields, readiness_lines


def explain_fields(contract: Contract, today: date) -> JsonObject:
    service = contract.service
    fields: JsonObject = {"name": service.name, "version": service.version}
    if service.owner:
        fields["owner"] = msgspec.to_builtins(service.owner) if isinstance(service.owner, Owner) else service.owner
    fields["pactoVersion"] = contract.pacto_version
    if contract.runtime is not None:
        state = contract.runtime.state
        fields["runtime"] = {
            "workloadType": contract.runtime.workload,
            "stateType": state.type,
            "scope": state.persistence.scope,
            "durability": state.persistence.durability,
            "dataCriticality": state.data_criticality,
        }
    for name, parts in (("interfaces", _interfaces(contract)), ("dependencies", dependency_fields(contract))):
        if parts:
            fields[name] = parts
    if contract.scaling is not None:
        fields["scaling"] = scaling_fields(contract)
    assessment = assess(contract, today)
    if assessment is not None:
        fields["readiness"] = readiness_fields(assessment)
    if contract.metadata:
        fields["metadata"] = contract.metadata
    return fields


def scaling_fields(contract: Contract) -> JsonObject:
    """Replicas alone, or both bounds."""
    scaling = contract.scaling
    if scaling is None:
        return {}
    bounds = {"min": scaling.min, "max": scaling.max}
    return bounds if scaling.replicas is None else {"replicas": scaling.replicas, **bounds}


def _interfaces(contract: Contract) -> list[JsonObject]:
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

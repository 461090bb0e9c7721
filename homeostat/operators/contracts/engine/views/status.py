"""The fields of a Pacto's status that show its contract. Pure.

Empty fields are omitted, as in the API.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Final

import msgspec

from homeostat.objects.json import Json, JsonObject, encode
from homeostat.operators.contracts.engine.checks.snapshot import Workload
from homeostat.operators.contracts.engine.document.contract import Configuration, Contract, Owner, Policy
from homeostat.operators.contracts.engine.files import Files
from homeostat.operators.contracts.engine.finding import Finding, Findings
from homeostat.operators.contracts.engine.schema.json_file import InvalidJsonError, read_json
from homeostat.operators.contracts.engine.views.explain import dependency_fields, interface_fields, scaling_fields

POINTER: Final = "secret://"
ANY: Final = "(any)"
MAX_PROPERTIES: Final = 200
MAX_FINDINGS: Final = 100
MAX_STATUS_BYTES: Final = 256 << 10
"""Of the fields that show a contract; an API server refuses objects of more than some 1.5 MB."""
_LONGEST_MESSAGE: Final = 2048
_OMITTED: Final = ("metadata", "configurations", "policies", "dependencies", "interfaces", "contract", "runtime")
"""Which fields may be omitted from a status that is too large; the largest first."""
_LARGEST_PLAIN: Final = 1e21


def contract_fields(
    contract: Contract, files: Files | None, *, resolved_ref: str = "", overridden: Mapping[str, Collection[str]]
) -> JsonObject:
    """Return the fields; `overridden` are the overridden keys by configuration."""
    parts: JsonObject = {
        "contractVersion": contract.service.version,
        "contract": _identity(contract, resolved_ref),
        "interfaces": [
            fields | {"hasContractFile": bool(each.contract)}
            for each, fields in zip(contract.interfaces, interface_fields(contract), strict=True)
        ],
        "dependencies": dependency_fields(contract),
        "runtime": _runtime(contract),
        "scaling": {key: value for key, value in scaling_fields(contract).items() if value or key == "replicas"},
        "metadata": {key: as_text(value) for key, value in (contract.metadata or {}).items()},
    }
    return {key: value for key, value in parts.items() if value} | {
        "configurations": [
            _configuration(each, files, overridden.get(each.name, ())) for each in contract.configurations
        ],
        "policies": [_policy(each, files) for each in contract.policies],
    }


def limit_fields(fields: JsonObject) -> tuple[JsonObject, tuple[str, ...]]:
    """Return fields within `MAX_STATUS_BYTES`, and the names of those that were omitted for that."""
    sizes = {name: len(encode(value)) for name, value in fields.items()}
    excess = sum(sizes.values()) - MAX_STATUS_BYTES
    omitted = []
    for name in sorted((each for each in _OMITTED if each in sizes), key=lambda each: -sizes[each]):
        if excess <= 0:
            break
        omitted.append(name)
        excess -= sizes[name]
    return {name: value for name, value in fields.items() if name not in omitted}, tuple(omitted)


def validation_fields(findings: Findings) -> JsonObject:
    fields: JsonObject = {"valid": findings.is_valid}
    for name, found in (("errors", findings.errors), ("warnings", findings.warnings)):
        if found:
            fields[name] = [_finding(each) for each in found[:MAX_FINDINGS]]
    return fields


def _finding(finding: Finding) -> JsonObject:
    fields = {"code": finding.code, "path": finding.path[:_LONGEST_MESSAGE], "message": finding.message}
    fields["message"] = fields["message"][:_LONGEST_MESSAGE]
    return {key: value for key, value in fields.items() if value}


def observed_fields(workload: Workload) -> JsonObject:
    fields: JsonObject = {
        "workloadKind": workload.kind,
        "deploymentStrategy": workload.deployment_strategy,
        "podManagementPolicy": workload.pod_management_policy,
        "containerImages": list(workload.images),
    }
    fields = {key: value for key, value in fields.items() if value}
    if workload.termination_grace_period_s is not None:
        fields["terminationGracePeriodSeconds"] = workload.termination_grace_period_s
    if workload.probe_delay_s is not None:
        fields["healthProbeInitialDelaySeconds"] = workload.probe_delay_s
    return fields | {"hasPVC": workload.has_claim, "hasEmptyDir": workload.has_empty_dir}


def _identity(contract: Contract, resolved_ref: str) -> JsonObject:
    service = contract.service
    owner = service.owner if isinstance(service.owner, Owner) else None
    fields: JsonObject = {
        "serviceName": service.name,
        "version": service.version,
        "owner": None if owner is None else msgspec.to_builtins(owner),
        "ownerDisplay": service.owner_display,
        "imageRef": service.image.ref if service.image else "",
        "resolvedRef": resolved_ref,
    }
    return {key: value for key, value in fields.items() if value}


def _runtime(contract: Contract) -> JsonObject:
    runtime = contract.runtime
    if runtime is None:
        return {}
    fields: JsonObject = {
        "workload": runtime.workload,
        "stateType": runtime.state.type,
        "persistenceScope": runtime.state.persistence.scope,
        "persistenceDurability": runtime.state.persistence.durability,
        "dataCriticality": runtime.state.data_criticality,
    }
    if runtime.lifecycle is not None:
        fields["upgradeStrategy"] = runtime.lifecycle.upgrade_strategy or None
        fields["gracefulShutdownSeconds"] = runtime.lifecycle.graceful_shutdown_seconds
    if runtime.health is not None:
        fields["healthInterface"] = runtime.health.interface
        fields["healthPath"] = runtime.health.path or None
        fields["healthInitialDelaySeconds"] = runtime.health.initial_delay_seconds
    if runtime.metrics is not None:
        fields["metricsInterface"] = runtime.metrics.interface
        fields["metricsPath"] = runtime.metrics.path or None
    return {key: value for key, value in fields.items() if value is not None}


def _configuration(configuration: Configuration, files: Files | None, overridden: Collection[str]) -> JsonObject:
    values = configuration.values or {}
    secrets = [key for key, value in values.items() if isinstance(value, str) and value.startswith(POINTER)]
    properties = list(_literals(values)) if values else list(schema_properties(configuration.schema, files))
    fields: JsonObject = {
        "ref": configuration.ref,
        "valueKeys": sorted(values),
        "secretKeys": sorted(secrets),
        "overriddenKeys": sorted(overridden),
        "properties": properties[:MAX_PROPERTIES],
    }
    return {"name": configuration.name, "hasSchema": bool(configuration.schema)} | {
        key: value for key, value in fields.items() if value
    }


def _policy(policy: Policy, files: Files | None) -> JsonObject:
    schema = _read_schema(policy.schema, files)
    fields: JsonObject = {
        "schema": policy.schema,
        "ref": policy.ref,
        "title": as_text(schema.get("title", "")),
        "description": as_text(schema.get("description", "")),
        "properties": list(schema_properties(policy.schema, files))[:MAX_PROPERTIES],
    }
    return {"name": policy.name, "hasSchema": bool(policy.schema)} | {
        key: value for key, value in fields.items() if value
    }


def _literals(values: JsonObject) -> Iterator[JsonObject]:
    for key in sorted(values):
        value = values[key]
        yield {"key": key, "value": ANY if value is None else as_text(value), "type": _type_of(value)}


def _type_of(value: Json) -> str:
    if isinstance(value, bool):
        return "boolean"
    names = {str: "string", int: "number", float: "number", dict: "object"}
    return names.get(type(value), "any")


def schema_properties(name: str, files: Files | None) -> Iterator[JsonObject]:
    return _flat(_read_schema(name, files), "")


def _flat(schema: JsonObject, path: str) -> Iterator[JsonObject]:
    properties: Json = schema.get("properties")
    for key in sorted(properties) if isinstance(properties, dict) else ():
        below, dotted = properties[key], f"{path}.{key}" if path else key
        node = below if isinstance(below, dict) else {}
        if node.get("properties") and isinstance(node["properties"], dict):
            yield from _flat(node, dotted)
            continue
        default, declared = node.get("default"), node.get("type")
        field: JsonObject = {"key": dotted, "value": ANY if default is None else as_text(default)}
        if isinstance(declared, str):
            field["type"] = declared
        yield field


def _read_schema(name: str, files: Files | None) -> JsonObject:
    if not name or files is None or name not in files:
        return {}
    try:
        schema = read_json(files[name])
    except InvalidJsonError:
        return {}
    return schema if isinstance(schema, dict) else {}


def as_text(value: Json) -> str:
    """Return a string as it is, and anything else as JSON; 3.0 is written as 3."""
    if isinstance(value, float) and value.is_integer() and abs(value) < _LARGEST_PLAIN:
        return str(int(value))
    return value if isinstance(value, str) else encode(value).decode()

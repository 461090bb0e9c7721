"""Everything about one service, as JSON: its contract, what runs, and how both compare. Pure.

What is declared comes from the status of the Pacto, where overrides are applied; the bundle adds the contents of files.
Without a Pacto the bundle has it all. `sectionMeta` says of each section where it comes from, or why it is absent.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any, Final

import msgspec

from homeostat.objects.json import JsonObject
from homeostat.objects.time.age import epoch_of, human_duration
from homeostat.operators.contracts.engine.bundle.bundle import Bundle
from homeostat.operators.contracts.engine.checks.verdict import REFERENCE
from homeostat.operators.contracts.engine.services.compliance import CATALOGUE, Compliance, Seen, severity_of
from homeostat.operators.contracts.engine.services.contents import add_contents, bundle_fields
from homeostat.operators.contracts.engine.services.drift import drift_rows
from homeostat.operators.contracts.engine.services.history import is_update
from homeostat.operators.contracts.engine.services.instance import Instance

_DECLARED: Final = ("interfaces", "configurations", "policies", "dependencies", "runtime", "scaling", "metadata")
_OBSERVED: Final = ("validation", "observedRuntime", "runtimeDiff", "resources", "ports", "endpoints", "conditions")
_NEEDS_BUNDLE: Final = ("docs",)
_ENDPOINT: Final[tuple[str, ...]] = ("url", "statusCode", "latencyMs", "error")


class Context(msgspec.Struct, frozen=True, kw_only=True):
    """What is known beside the Pacto. `problem` says why there is no bundle."""

    now: datetime
    bundle: Bundle | None = None
    problem: str = ""
    latest: str = ""
    radius: int = 0


def service_details(instance: Instance, status: JsonObject, context: Context) -> JsonObject:
    """`status` is the Pacto's; empty for a contract that no Pacto binds."""
    fields = _identity(instance, context)
    declared = {name: status[name] for name in _DECLARED if status.get(name) is not None}
    is_from_status = bool(status.get("contract"))
    if context.bundle is not None:
        declared = add_contents(
            declared if is_from_status else bundle_fields(context.bundle, context.now.date()), context.bundle
        )
    fields |= _renamed(declared)
    fields |= _observed(instance, status, context.now)
    fields["sectionMeta"] = _sections(fields, instance, context, is_from_status=is_from_status)
    return fields


def bundle_details(bundle: Bundle, *, ref: str, source: str, now: datetime) -> JsonObject:
    """A contract that is not bound to anything: what its bundle declares."""
    service = bundle.contract.service
    fields: JsonObject = {
        "name": service.name,
        "version": service.version,
        "owner": msgspec.to_builtins(service.owner),
        "contractStatus": "Unknown",
        "source": source,
        "sources": [source],
        "imageRef": service.image.ref if service.image else "",
        "resolvedRef": ref,
        "digest": bundle.digest,
    }
    fields |= _renamed(add_contents(bundle_fields(bundle, now.date()), bundle))
    return {key: value for key, value in fields.items() if value not in (None, "")}


def _identity(instance: Instance, context: Context) -> JsonObject:
    latest = context.latest
    fields: JsonObject = {
        "name": instance.service,
        "version": instance.version,
        "owner": instance.owner,
        "contractStatus": instance.status,
        "source": instance.sources[0],
        "sources": instance.sources,
        "namespace": instance.namespace,
        "pacto": instance.name if instance.namespace else "",
        "imageRef": instance.image,
        "resolvedRef": instance.resolved_ref,
        "currentRevision": instance.revision,
        "versionPolicy": instance.policy,
        "latestAvailable": latest,
        "digest": context.bundle.digest if context.bundle is not None else "",
    }
    return {key: value for key, value in fields.items() if value not in (None, "")} | {
        "version": instance.version,
        "updateAvailable": is_update(latest, instance.version),
        "blastRadius": context.radius,
        "insights": [msgspec.to_builtins(each) for each in instance.insights],
        "compliance": compliance_fields(instance.compliance),
    }


def compliance_fields(compliance: Compliance) -> JsonObject:
    fields: JsonObject = {"status": compliance.status, "score": compliance.score}
    if compliance.total:
        names = ("total", "passed", "failed", "errors", "warnings")
        fields["summary"] = {name: getattr(compliance, name) for name in names}
    return fields


def _observed(instance: Instance, status: JsonObject, now: datetime) -> JsonObject:
    conditions = _conditions(status)
    total, passed, failed = instance.checks
    is_evaluated = bool(instance.namespace) and instance.status != REFERENCE and bool(status)
    fields: JsonObject = {
        "validation": status.get("validation"),
        "readiness": instance.readiness,
        "observedRuntime": status.get("observedRuntime"),
        "runtimeDiff": [msgspec.to_builtins(each) for each in drift_rows(status, conditions)],
        "endpoints": list(_endpoints(status, conditions)),
        "conditions": [_condition(each, now) for each in conditions],
        "checksSummary": {"total": total, "passed": passed, "failed": failed} if total else None,
        "resources": _resources(status),
        "ports": status.get("ports"),
        "lastReconciledAt": status.get("lastReconciledAt"),
        "lastUpdated": status.get("lastReconciledAt"),
        "runtimeEvaluated": is_evaluated,
    }
    return {key: value for key, value in fields.items() if value not in (None, [], {})}


def _conditions(status: JsonObject) -> list[Seen]:
    try:
        return msgspec.convert(status.get("conditions") or [], list[Seen])
    except msgspec.ValidationError:
        return []


def _condition(condition: Seen, now: datetime) -> JsonObject:
    described = CATALOGUE.get(condition.type)
    moment = epoch_of(condition.last_transition_time)
    fields: JsonObject = {
        "type": condition.type,
        "status": condition.status,
        "reason": condition.reason,
        "message": condition.message,
        "severity": severity_of(condition.type) if described is not None else "",
        "category": described.category if described is not None else "",
        "label": described.label if described is not None else "",
        "lastTransitionAgo": human_duration(now.timestamp() - moment) if moment is not None else "",
    }
    return {key: value for key, value in fields.items() if value}


def _endpoints(status: JsonObject, conditions: Iterable[Seen]) -> Iterable[JsonObject]:
    results, runtime = _part(status, "endpoints"), _part(status, "runtime")
    verdicts = {each.type: each.status for each in conditions}
    for name, check in (("health", "HealthEndpointValid"), ("metrics", "MetricsEndpointValid")):
        found = _part(results, name)
        if found:
            fields: JsonObject = {key: found[key] for key in _ENDPOINT if key in found}
            yield {
                "interface": runtime.get(f"{name}Interface", ""),
                "type": name,
                "healthy": verdicts.get(check) == "True",
                **fields,
            }


def _resources(status: JsonObject) -> JsonObject:
    resources = _part(status, "resources")
    found = {"serviceExists": _part(resources, "service"), "workloadExists": _part(resources, "workload")}
    return {key: bool(value.get("exists")) for key, value in found.items() if value}


def _renamed(declared: JsonObject) -> JsonObject:
    """The status calls the flattened values of a configuration its properties."""
    for name in ("configurations", "policies"):
        if isinstance(declared.get(name), list):
            declared[name] = [
                {("values" if key == "properties" else key): value for key, value in each.items()}
                for each in declared[name]
                if isinstance(each, dict)
            ]
    return declared


def _sections(fields: JsonObject, instance: Instance, context: Context, *, is_from_status: bool) -> JsonObject:
    declared_by = "k8s" if is_from_status or context.bundle is None else "oci"
    sections: JsonObject = {name: _section(fields, name, declared_by) for name in (*_DECLARED, "readiness")}
    for name in _OBSERVED:
        sections[name] = _section(fields, name, "k8s")
        if name not in fields and (instance.status == REFERENCE or not instance.namespace):
            sections[name] = {"state": "not_applicable", "reason": "the contract is not bound to a workload"}
    for name in _NEEDS_BUNDLE:
        sections[name] = _section(fields, name, "oci")
        if name not in fields and context.bundle is None:
            sections[name] = {"state": "unavailable", "reason": context.problem or "the contract has no bundle"}
    return sections


def _section(fields: JsonObject, name: str, source: str) -> JsonObject:
    return {"state": "present", "source": source} if fields.get(name) else {"state": "empty"}


def _part(fields: JsonObject, name: str) -> dict[str, Any]:
    found = fields.get(name)
    return found if isinstance(found, dict) else {}

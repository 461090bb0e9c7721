"""Decides the status of one Pacto from the loaded contract and the observed target. Pure.

The same inputs give the same evaluation. A contract that cannot be loaded or is invalid is NonCompliant. A contract
without a target is Reference. If the target cannot be read, the status is Unknown. Readiness never changes it.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date

import msgspec

from homeostat.objects.conditions import Condition
from homeostat.objects.json import JsonObject
from homeostat.operators.contracts.engine.checks.endpoint import (
    Outcome,
    Probe,
    endpoint_fields,
    judge_probe,
    plan_probes,
)
from homeostat.operators.contracts.engine.checks.optional import NO_OPTIONS, CheckOptions, adjust, check_optional
from homeostat.operators.contracts.engine.checks.resources import Target, check_resources, compare_ports
from homeostat.operators.contracts.engine.checks.runtime import check_runtime
from homeostat.operators.contracts.engine.checks.served import served_fields
from homeostat.operators.contracts.engine.checks.snapshot import Snapshot
from homeostat.operators.contracts.engine.checks.verdict import (
    CONTRACT_VALID,
    NON_COMPLIANT,
    READINESS_SATISFIED,
    REFERENCE,
    RUNTIME_OBSERVED,
    UNKNOWN,
    ContractStatus,
    Verdict,
    contract_status,
    judge,
)
from homeostat.operators.contracts.engine.document.configuration import (
    UnknownConfigurationError,
    Values,
    override_configurations,
    override_document,
)
from homeostat.operators.contracts.engine.document.contract import Contract
from homeostat.operators.contracts.engine.document.parse import Parsed
from homeostat.operators.contracts.engine.files import Files
from homeostat.operators.contracts.engine.finding import Findings
from homeostat.operators.contracts.engine.policy import enforce_local
from homeostat.operators.contracts.engine.readiness import Assessment, assess, describe_gate
from homeostat.operators.contracts.engine.validate import check_contract
from homeostat.operators.contracts.engine.views.readiness import readiness_fields
from homeostat.operators.contracts.engine.views.status import (
    contract_fields,
    limit_fields,
    observed_fields,
    validation_fields,
)

_MOST_SHOWN = 5
_LONGEST_SHOWN = 2048


class Loaded(msgspec.Struct, frozen=True):
    """A contract that was loaded; `files` is None for inline text."""

    parsed: Parsed
    files: Files | None = None
    resolved_ref: str = ""


class Failure(msgspec.Struct, frozen=True):
    """The contract could not be loaded, or the cluster could not be read; `path` names the field at fault."""

    message: str
    path: str = ""
    is_transient: bool = False
    """Whether nobody answered, so that nothing is known about the contract."""
    reason: str = ""
    """In one word, if it is known."""


class Observed(msgspec.Struct, frozen=True, kw_only=True):
    target: Target
    namespace: str
    snapshot: Snapshot | Failure
    outcomes: Mapping[str, Outcome] = {}
    """Of probes, by URL; one that is missing is pending."""
    options: CheckOptions = NO_OPTIONS


class Evaluation(msgspec.Struct, frozen=True, kw_only=True):
    status: ContractStatus
    verdicts: tuple[Verdict, ...]
    """ContractValid first, then the checks in the order in which they are reported."""
    fields: JsonObject
    """The fields of `status`, without conditions, times and revisions."""
    contract: Contract | None = None
    """None if no contract was loaded; set for an invalid contract."""
    readiness: Assessment | None = None
    probes: tuple[Probe, ...] = ()
    """The endpoints to probe."""

    @property
    def conditions(self) -> tuple[Condition, ...]:
        first, *others = [each.condition() for each in self.verdicts]
        return (first, *_readiness_conditions(self.readiness), *others)


class Prepared(msgspec.Struct, frozen=True):
    """A contract with its overrides, validated: all that does not depend on the day and on what runs."""

    findings: Findings
    contract: Contract | None = None
    """None if no contract was loaded; set for an invalid contract."""
    fields: JsonObject = {}
    """The fields of `status` that show the contract; empty for an invalid contract."""
    omitted: tuple[str, ...] = ()
    """Fields that are too large for a status."""


def prepare(source: Loaded | Failure, overrides: Values | None = None) -> Prepared:
    """Validate a contract. Bundles may have large files: cache the result."""
    if isinstance(source, Failure):
        return _failed(source)
    try:
        contract = override_configurations(source.parsed.contract, overrides or {})
    except UnknownConfigurationError as error:
        return _failed(Failure(str(error), "spec.overrides"), source.parsed.contract)
    findings = _validate(source, contract)
    if not findings.is_valid:
        return Prepared(findings, contract)
    keys = {name: list(values) for name, values in (overrides or {}).items()}
    fields = contract_fields(contract, source.files, resolved_ref=source.resolved_ref, overridden=keys)
    fields, omitted = limit_fields(fields)
    return Prepared(findings, contract, {"validation": validation_fields(findings)} | fields, omitted)


def evaluate(
    source: Loaded | Failure,
    *,
    today: date,
    observed: Observed | None = None,
    overrides: Values | None = None,
) -> Evaluation:
    """Evaluate a contract; `observed` is None if it has no target."""
    return evaluate_prepared(prepare(source, overrides), today=today, observed=observed)


def evaluate_prepared(prepared: Prepared, *, today: date, observed: Observed | None = None) -> Evaluation:
    contract = prepared.contract
    if contract is None or not prepared.findings.is_valid:
        return _invalid(prepared.findings, contract)
    fields = dict(prepared.fields)
    readiness = assess(contract, today)
    if readiness is not None:
        fields["readiness"] = readiness_status(readiness)
    if observed is None:
        message = f"Contract {contract.service.name} {contract.service.version} is valid; no target is set"
        valid = judge(CONTRACT_VALID, True, message, good="ReferenceOnly")
        return _evaluation(REFERENCE, [valid], fields, contract, readiness)
    message = f"Contract {contract.service.name} {contract.service.version} is valid"
    valid = judge(CONTRACT_VALID, True, message, good="Parsed")
    if isinstance(observed.snapshot, Failure):
        unseen = judge(RUNTIME_OBSERVED, False, observed.snapshot.message, reason="ObservationFailed")
        fields["summary"] = {"total": 1, "passed": 0, "failed": 1}
        return _evaluation(UNKNOWN, [valid, unseen], fields, contract, readiness)
    return _checked(valid, observed, observed.snapshot, fields, contract, readiness)


def readiness_status(readiness: Assessment) -> JsonObject:
    """Return `status.readiness`: zero values are omitted, except the weight of a check."""
    fields = {key: value for key, value in readiness_fields(readiness).items() if value and key != "partialCredit"}
    fields["checks"] = [
        {key: value for key, value in each.items() if value or key == "weight"} for each in fields["checks"]
    ]
    return fields


def _validate(source: Loaded, contract: Contract) -> Findings:
    """Check the structure of the document, then the rules and policies with overridden values."""
    findings = check_contract(msgspec.structs.replace(source.parsed, contract=contract), source.files)
    if findings.is_valid:
        findings.extend([enforce_local(contract, override_document(source.parsed.raw, contract), source.files)])
    return findings


def _failed(failure: Failure, contract: Contract | None = None) -> Prepared:
    findings = Findings()
    findings.error("", failure.path, failure.message)
    return Prepared(findings, contract)


def _invalid(findings: Findings, contract: Contract | None) -> Evaluation:
    shown = [f"{each.path}: {each.message}" if each.path else each.message for each in findings.errors]
    more = f"; and {len(shown) - _MOST_SHOWN} more" if len(shown) > _MOST_SHOWN else ""
    listed = "; ".join(each[:_LONGEST_SHOWN] for each in shown[:_MOST_SHOWN])
    message = f"The contract is invalid: {listed}{more}"
    invalid = judge(CONTRACT_VALID, False, message, reason="Invalid")
    return _evaluation(NON_COMPLIANT, [invalid], {"validation": validation_fields(findings)}, contract, None)


def _checked(
    valid: Verdict,
    observed: Observed,
    snapshot: Snapshot,
    fields: JsonObject,
    contract: Contract,
    readiness: Assessment | None,
) -> Evaluation:
    target = observed.target
    verdicts = [valid, *check_resources(contract, target, snapshot), *check_runtime(contract, snapshot.workload)]
    probes: tuple[Probe, ...] = ()
    if target.service and snapshot.has_service:
        endpoints = plan_probes(contract, target.service, observed.namespace)
        probes = endpoints.probes
        judged = [*endpoints.refused, *(judge_probe(each, observed.outcomes.get(each.url)) for each in probes)]
        verdicts += sorted(judged, key=lambda each: each.check)
        if shown := endpoint_fields(probes, observed.outcomes):
            fields["endpoints"] = shown
    fields |= _observed_fields(contract, target, snapshot)
    if observed.options is not NO_OPTIONS:
        if drifts := served_fields(observed.options.drifts):
            fields["apiDrift"] = drifts
        verdicts = adjust([*verdicts, *check_optional(contract, snapshot.workload, observed.options)], observed.options)
    return _evaluation(contract_status(verdicts), verdicts, fields, contract, readiness, probes)


def _observed_fields(contract: Contract, target: Target, snapshot: Snapshot) -> JsonObject:
    fields: JsonObject = {
        "resources": {
            "workload": {"name": target.workload, "kind": target.kind, "exists": snapshot.workload is not None}
        }
    }
    if target.service:
        fields["resources"]["service"] = {"name": target.service, "exists": snapshot.has_service}
        ports = {key: list(value) for key, value in msgspec.to_builtins(compare_ports(contract, snapshot)).items()}
        if ports:
            fields["ports"] = ports
    if snapshot.workload is not None:
        fields["observedRuntime"] = observed_fields(snapshot.workload)
    return fields


def _evaluation(
    status: ContractStatus,
    verdicts: list[Verdict],
    fields: JsonObject,
    contract: Contract | None,
    readiness: Assessment | None,
    probes: tuple[Probe, ...] = (),
) -> Evaluation:
    counted = [each for each in verdicts if each.status != "Unknown"]
    failed = sum(each.is_failed for each in counted)
    summary = {"total": len(counted), "passed": len(counted) - failed, "failed": failed}
    return Evaluation(
        status=status,
        verdicts=tuple(verdicts),
        fields={"contractStatus": status, "summary": summary} | fields,
        contract=contract,
        readiness=readiness,
        probes=probes,
    )


def _readiness_conditions(readiness: Assessment | None) -> tuple[Condition, ...]:
    if readiness is None:
        return ()
    if readiness.is_passing:
        message = f"Readiness score {readiness.score} meets minScore {readiness.min_score}"
        return (Condition(READINESS_SATISFIED, "True", readiness.reason, message),)
    message = describe_gate(readiness)
    return (Condition(READINESS_SATISFIED, "False", readiness.reason, message[0].upper() + message[1:]),)

"""Checks scaling, upgrades and readiness. Pure."""

from __future__ import annotations

from homeostat.operators.contracts.engine.dates import parse_date
from homeostat.operators.contracts.engine.document.contract import V1_1, Contract, Readiness
from homeostat.operators.contracts.engine.finding import Findings
from homeostat.operators.contracts.engine.rules.names import repeated

_FORM = "expected a day that exists, as YYYY-MM-DD"


def check_scaling(contract: Contract, findings: Findings) -> None:
    scaling = contract.scaling
    if scaling is None:
        return
    if scaling.min > scaling.max:
        findings.error("SCALING_MIN_EXCEEDS_MAX", "scaling", f"min {scaling.min} is more than max {scaling.max}")
    if contract.runtime is not None and contract.runtime.workload == "job":
        findings.error("JOB_SCALING_NOT_ALLOWED", "scaling", "a job does not scale; remove the section")


def check_upgrade(contract: Contract, findings: Findings) -> None:
    """The semantic layer: warn about combinations that are allowed but rarely intended."""
    runtime = contract.runtime
    if runtime is None or runtime.lifecycle is None:
        return
    if runtime.lifecycle.upgrade_strategy == "ordered" and runtime.state.type == "stateless":
        problem = "ordered upgrades are for stateful services, and the state is stateless; use rolling or recreate"
        findings.warn("UPGRADE_STRATEGY_STATE_MISMATCH", "runtime.lifecycle.upgradeStrategy", problem)


def check_readiness(contract: Contract, findings: Findings) -> None:
    readiness = contract.readiness
    if readiness is None:
        return
    for place, name, earlier in repeated(each.id for each in readiness.checks):
        problem = f'the id "{name}" is already declared at readiness.checks[{earlier}]; ids must be unique'
        findings.error("DUPLICATE_READINESS_ID", f"readiness.checks[{place}].id", problem)
    for place, each in enumerate(readiness.checks):
        path = f"readiness.checks[{place}]"
        if not each.evidence.strip():
            findings.error("EMPTY_READINESS_EVIDENCE", f"{path}.evidence", f'the evidence of "{each.id}" is blank')
        if each.description and not each.description.strip():
            problem = f'the description of "{each.id}" is blank; write one or remove it'
            findings.error("EMPTY_READINESS_DESCRIPTION", f"{path}.description", problem)
    _check_dates(contract.pacto_version, readiness, findings)


def _check_dates(version: str, readiness: Readiness, findings: Findings) -> None:
    if version == V1_1:
        dates = [(f"readiness.checks[{place}].expires", each.expires) for place, each in enumerate(readiness.checks)]
    else:
        dates = [("readiness.expires", readiness.expires)]
    for path, text in dates:
        if parse_date(text) is None:
            findings.error("INVALID_READINESS_EXPIRES", path, f'"{text}" is not a date; {_FORM}')
    for place, revision in enumerate(readiness.history):
        path = f"readiness.history[{place}]"
        if parse_date(revision.date) is None:
            findings.error("INVALID_READINESS_REVISION", f"{path}.date", f'"{revision.date}" is not a date; {_FORM}')
        for name in ("version", "author", "description"):
            if not getattr(revision, name).strip():
                findings.error("INVALID_READINESS_REVISION", f"{path}.{name}", f"the {name} is blank; fill it in")

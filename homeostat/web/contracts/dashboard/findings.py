"""The contracts that are about an object: its own page for a Pacto, and those whose target it is."""

from __future__ import annotations

from typing import Final

from homeostat.objects.kind import DEPLOYMENT, SERVICE, Kind
from homeostat.operators.contracts.api import PACTO, PACTO_REVISION, WORKLOADS
from homeostat.operators.contracts.engine.checks.resources import Target, target_of
from homeostat.web.contracts.dashboard.contracts import LOOKS, ContractRow, Contracts, ShownPacto, failed_checks
from homeostat.web.dashboard.finding import Finding, Subject
from homeostat.web.dashboard.visit import Visit

_KINDS: Final = (PACTO.kind, PACTO_REVISION.kind, SERVICE, *WORKLOADS.values())


class ContractFindings:
    def __init__(self, contracts: Contracts) -> None:
        self._contracts = contracts

    async def find(self, visit: Visit, subject: Subject) -> list[Finding]:
        if not subject.is_of(*_KINDS):
            return []
        rows = await self._contracts.worst(visit)
        return [
            _finding(each)
            for each in rows
            if each.pacto.metadata.namespace == subject.namespace and _is_about(each, subject)
        ]


def target_kind(target: Target) -> Kind:
    return WORKLOADS.get(target.kind, DEPLOYMENT)


def target_in(pacto: ShownPacto) -> Target | None:
    """None for a Pacto whose contract is only loaded."""
    target = pacto.spec.target
    if target is None:
        return None
    workload = target.workload_ref
    return target_of(target.service_name, None if workload is None else (workload.name, workload.kind))


def _is_about(each: ContractRow, subject: Subject) -> bool:
    if subject.is_of(PACTO.kind):
        return each.pacto.metadata.name == subject.name
    if subject.is_of(PACTO_REVISION.kind):
        owners = subject.whole.get("metadata", {}).get("ownerReferences") or ()
        return any(owner.get("uid") == each.pacto.metadata.uid for owner in owners)
    target = target_in(each.pacto)
    if target is None:
        return False
    if subject.is_of(SERVICE):
        return target.service == subject.name
    return subject.is_of(target_kind(target)) and target.workload == subject.name


def _finding(each: ContractRow) -> Finding:
    word, failed = each.status.contract_status, failed_checks(each.status)
    text = "; ".join(f"{one.type}: {one.message}" for one in failed)
    return Finding(each.pacto.metadata.name, each.pacto.path, word or "not evaluated", LOOKS.get(word, "plain"), text)

"""Checks a contract against manifests or a cluster: loads it, finds its target, and evaluates as the operator does."""

from __future__ import annotations

import asyncio
import os
from datetime import UTC, datetime

import msgspec

from homeostat.cli.console.connection import open_connection
from homeostat.cli.console.failure import UnreachableFailure, UsageFailure
from homeostat.cli.contract.session.session import Session
from homeostat.cli.contract.session.settings import Settings
from homeostat.cli.contract.target.cluster import fetch_candidates
from homeostat.cli.contract.target.manifests import read_candidates
from homeostat.objects.errors import ApiError
from homeostat.objects.json import JsonObject
from homeostat.objects.report.json import report_fields
from homeostat.objects.report.report import Problem, Report
from homeostat.operators.contracts.engine.checks.endpoint import Outcome, Probe
from homeostat.operators.contracts.engine.checks.evaluate import Evaluation, Failure, Loaded, Observed, evaluate
from homeostat.operators.contracts.engine.checks.resources import Target, target_of
from homeostat.operators.contracts.engine.checks.selection import AmbiguousTargetError, Candidate, Selection, select
from homeostat.operators.contracts.engine.checks.snapshot import observe
from homeostat.operators.contracts.engine.checks.verdict import SEVERITIES
from homeostat.operators.contracts.engine.document.parse import ParseError
from homeostat.operators.contracts.engine.files import CONTRACT_FILE
from homeostat.operators.contracts.engine.reference import is_oci, location
from homeostat.operators.contracts.engine.views.report import ContractFile, check_report
from homeostat.operators.contracts.sources.errors import (
    AuthenticationError,
    InvalidBundleError,
    SourceError,
    UnreachableError,
)


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """What to check, and against what; without files it is the cluster."""

    ref: str
    files: tuple[str, ...] = ()
    service: str = ""
    workload: tuple[str, str] | None = None
    namespace: str = ""
    context: str = ""
    kubeconfig: str = ""
    has_probes: bool = False


class Checked(msgspec.Struct, frozen=True, kw_only=True):
    evaluation: Evaluation
    selection: Selection
    file: ContractFile
    problems: tuple[Problem, ...] = ()

    @property
    def report(self) -> Report:
        found = self.selection
        objects = [each for each in (found.service, found.workload) if each is not None and each.source]
        report = check_report(
            self.evaluation,
            found.target,
            namespace=found.namespace,
            lines={(each.kind, each.name): (each.source, each.line) for each in objects},
            file=self.file if self.file.source else None,
        )
        return msgspec.structs.replace(report, problems=self.problems)

    def fields(self, report: Report) -> JsonObject:
        """As JSON: what the operator would write to the status, with conditions, and the report."""
        conditions = [
            {
                "type": each.type,
                "status": each.status,
                "reason": each.reason,
                "message": each.message,
                "severity": SEVERITIES.get(each.type, "warning"),
            }
            for each in self.evaluation.conditions
        ]
        target = {"namespace": self.selection.namespace, **msgspec.to_builtins(self.selection.target)}
        return {**self.evaluation.fields, "conditions": conditions, "target": target, **report_fields(report)}


async def check(settings: Settings, request: Request) -> Checked:
    """Raises failures that have exit codes of their own."""
    loaded, file = await _load(settings, request.ref)
    today = datetime.now(UTC).date()
    if isinstance(loaded, Failure):
        target = target_of(request.service, request.workload) or Target("")
        nothing = Selection(target, request.namespace)
        return Checked(evaluation=evaluate(loaded, today=today), selection=nothing, file=file)
    selection, failure, problems = await _select(request, loaded)
    target = selection.target
    snapshot = failure or observe(
        None if selection.service is None else selection.service.value,
        None if selection.workload is None else selection.workload.value,
        kind=target.kind,
        with_defaults=bool(request.files),
    )
    observed = Observed(target=target, namespace=selection.namespace, snapshot=snapshot)
    evaluation = evaluate(loaded, today=today, observed=observed)
    if evaluation.probes and request.has_probes:
        observed = msgspec.structs.replace(observed, outcomes=await _probe(evaluation.probes))
        evaluation = evaluate(loaded, today=today, observed=observed)
    known = tuple(each for each in evaluation.verdicts if each.reason != "ProbePending")
    evaluation = msgspec.structs.replace(evaluation, verdicts=known)
    return Checked(evaluation=evaluation, selection=selection, file=file, problems=tuple(problems))


async def _load(settings: Settings, ref: str) -> tuple[Loaded | Failure, ContractFile]:
    source = "" if is_oci(ref) else os.path.join(location(ref), CONTRACT_FILE)
    try:
        async with Session(settings) as session:
            found = await session.load(ref)
    except (UnreachableError, AuthenticationError) as error:
        raise UnreachableFailure(str(error)) from error
    except InvalidBundleError as error:
        return Failure(str(error)), ContractFile(source)
    except SourceError as error:
        raise UsageFailure(str(error)) from error
    except ParseError as error:
        if source and not _exists(source):
            raise UsageFailure(f"{location(ref)}: {error}") from error
        return Failure(str(error)), ContractFile(source, line=max(error.line, 1))
    return Loaded(found.parsed, found.files, location(ref) if is_oci(ref) else ""), ContractFile(
        source, found.parsed.document
    )


def _exists(path: str) -> bool:
    return os.path.exists(path)


async def _select(request: Request, loaded: Loaded) -> tuple[Selection, Failure | None, list[Problem]]:
    """The target; a failure if the cluster refused to show it, and what could not be read of the files."""
    problems: list[Problem] = []
    failure: Failure | None = None
    candidates: list[Candidate] = []
    namespace = request.namespace
    if request.files:
        candidates, problems = read_candidates(request.files)
    else:
        connecting = open_connection(request.kubeconfig, context=request.context, namespace=namespace)
        async with connecting as connection:
            namespace = connection.namespace
            try:
                candidates = await fetch_candidates(
                    connection, loaded.parsed.contract, service=request.service, workload=request.workload
                )
            except ApiError as error:
                failure = Failure(f"cannot observe the target: {error.message}")
    try:
        selection = select(
            loaded.parsed.contract,
            candidates,
            service=request.service,
            workload=request.workload,
            namespace=namespace,
        )
    except AmbiguousTargetError as error:
        raise UsageFailure(str(error)) from error
    return selection, failure, problems


async def _probe(probes: tuple[Probe, ...]) -> dict[str, Outcome]:
    from homeostat.operators.contracts.probes.request import probe_client, send_probe

    seconds = asyncio.get_running_loop().time
    async with probe_client(os.environ, connections=len(probes)) as client:
        return {each.url: await send_probe(client, each.url, seconds) for each in probes}

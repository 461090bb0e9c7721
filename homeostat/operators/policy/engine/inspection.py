"""Evaluates manifests without a cluster, with the engine of the operator.

Every policy evaluates every manifest, whatever its namespace; the scores of several clusters are aggregated. Pure.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec

from homeostat.objects.report.report import Entry, Report, Summary, Terms
from homeostat.objects.views.workload import DisruptionBudget
from homeostat.operators.policy.document import PolicyDocument
from homeostat.operators.policy.engine.check import CHECKS, Finding
from homeostat.operators.policy.engine.evaluator import Evaluator
from homeostat.operators.policy.engine.manifest import JOBS, Subject
from homeostat.operators.policy.engine.score import aggregate, classify
from homeostat.operators.policy.engine.totals import RunningTotals, Totals
from homeostat.operators.policy.spec import PolicySpec, Thresholds

TERMS: Final = Terms(
    topic="policy",
    origin="policy",
    part="container",
    finding="violation",
    subject="pod",
    remedies={each.type: each.remedy for each in CHECKS},
)


def judge(
    subjects: Sequence[Subject],
    policies: Sequence[PolicyDocument],
    *,
    now: float,
    budgets: tuple[DisruptionBudget, ...] = (),
) -> Report:
    """The score and the findings of each policy."""
    entries: list[Entry] = []
    summaries: list[Summary] = []
    for policy in policies:
        totals, found = _judge(policy, subjects, budgets, now)
        entries += found
        summaries.append(score_line(policy.title, policy.evaluator, totals))
    return Report(tuple(entries), tuple(summaries), terms=TERMS)


def _judge(
    policy: PolicyDocument, subjects: Sequence[Subject], budgets: tuple[DisruptionBudget, ...], now: float
) -> tuple[Totals, list[Entry]]:
    running = RunningTotals()
    entries: list[Entry] = []
    evaluator = policy.evaluator
    of_jobs = _evaluator_of_jobs(policy.spec, subjects) or evaluator
    for at, subject in enumerate(subjects):
        result = (of_jobs if subject.kind in JOBS else evaluator).evaluate(subject.pod, now=now, body=subject.body)
        findings = result.findings
        running.put(f"{at}", result)
        if subject.workload is not None and evaluator.needs_workloads:
            own = evaluator.evaluate_workload(subject.workload, budgets, now=now)
            running.put(f"{at}/workload", own)
            findings += own.findings
        entries += [_entry(policy.title, subject, finding) for finding in findings]
    return running.totals(), entries


def _evaluator_of_jobs(spec: PolicySpec, subjects: Sequence[Subject]) -> Evaluator | None:
    """For Jobs and CronJobs in files, which need no probes unless the policy says so."""
    if spec.probes_for_jobs is not None or not any(each.kind in JOBS for each in subjects):
        return None
    return Evaluator(msgspec.structs.replace(spec, probes_for_jobs=False))


def _entry(policy: str, subject: Subject, finding: Finding) -> Entry:
    check, document = finding.check, subject.document
    return Entry(
        origin=policy,
        source=document.source,
        line=document.line,
        kind=subject.kind,
        namespace=subject.namespace,
        name=subject.pod.name,
        part=finding.container,
        type=check.type,
        severity=check.severity,
        message=finding.message,
    )


def score_line(title: str, evaluator: Evaluator, totals: Totals) -> Summary:
    return Summary(
        title=title,
        score=totals.score,
        classification=classify(totals.score, evaluator.spec.thresholds),
        subjects=totals.pods,
        findings=totals.violations,
        exempted=totals.exempted,
    )


def aggregate_line(
    lines: Sequence[Summary], *, title: str = "aggregate", thresholds: Thresholds | None = None
) -> Summary:
    """The aggregate of several clusters, weighted by their Pods; `thresholds` are those of the policy."""
    score = aggregate([(each.score or 0, each.subjects) for each in lines])
    return Summary(
        title=title,
        score=score,
        classification=classify(score, thresholds),
        subjects=sum(each.subjects for each in lines),
        findings=sum(each.findings for each in lines),
        exempted=sum(each.exempted for each in lines),
    )

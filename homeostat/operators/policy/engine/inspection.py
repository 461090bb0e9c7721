"""Manifests judged by policies, without any cluster: the same engine as the operator's, on what is about to be applied.

Every policy judges every manifest, for a file says what should be, whatever namespace it is meant for. The Pods of a
cluster are judged in the same way (`manifest.live_subject`), and several clusters add up. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from homeostat.objects.views.workload import DisruptionBudget
from homeostat.operators.policy.document import PolicyDocument
from homeostat.operators.policy.engine.check import Finding
from homeostat.operators.policy.engine.evaluator import Evaluator
from homeostat.operators.policy.engine.manifest import Budget, Document, Subject, Trouble, read_manifests
from homeostat.operators.policy.engine.score import aggregate, classify
from homeostat.operators.policy.engine.tally import Tally, Totals
from homeostat.operators.policy.report.report import Entry, Report, ScoreLine
from homeostat.operators.policy.spec import Thresholds


def inspect(documents: Iterable[Document], policies: Sequence[PolicyDocument], *, now: float) -> Report:
    subjects: list[Subject] = []
    budgets: list[DisruptionBudget] = []
    troubles: list[Trouble] = []
    for each in read_manifests(documents):
        match each:
            case Subject():
                subjects.append(each)
            case Budget():
                budgets.append(each.budget)
            case Trouble():
                troubles.append(each)
    return msgspec.structs.replace(judge(subjects, policies, now=now, budgets=tuple(budgets)), troubles=tuple(troubles))


def judge(
    subjects: Sequence[Subject],
    policies: Sequence[PolicyDocument],
    *,
    now: float,
    budgets: tuple[DisruptionBudget, ...] = (),
) -> Report:
    """A score for each policy, and what it found."""
    entries: list[Entry] = []
    scores: list[ScoreLine] = []
    for policy in policies:
        totals, found = _judge(policy, subjects, budgets, now)
        entries += found
        scores.append(score_line(policy.title, policy.evaluator, totals))
    return Report(tuple(entries), tuple(scores))


def _judge(
    policy: PolicyDocument, subjects: Sequence[Subject], budgets: tuple[DisruptionBudget, ...], now: float
) -> tuple[Totals, list[Entry]]:
    tally = Tally()
    entries: list[Entry] = []
    evaluator = policy.evaluator
    for at, subject in enumerate(subjects):
        result = evaluator.evaluate(subject.pod, now=now, body=subject.body)
        findings = result.findings
        tally.put(f"{at}", result)
        if subject.workload is not None and evaluator.needs_workloads:
            own = evaluator.evaluate_workload(subject.workload, budgets, now=now)
            tally.put(f"{at}/workload", own)
            findings += own.findings
        entries += [_entry(policy.title, subject, finding) for finding in findings]
    return tally.totals(), entries


def _entry(policy: str, subject: Subject, finding: Finding) -> Entry:
    check, document = finding.check, subject.document
    return Entry(
        policy=policy,
        source=document.source,
        line=document.line,
        kind=subject.kind,
        namespace=subject.namespace,
        name=subject.pod.name,
        container=finding.container,
        type=check.type,
        severity=check.severity,
        message=finding.message,
    )


def score_line(title: str, evaluator: Evaluator, totals: Totals) -> ScoreLine:
    return ScoreLine(
        title=title,
        score=totals.score,
        classification=classify(totals.score, evaluator.spec.thresholds),
        pods=totals.pods,
        violations=totals.violations,
        exempted=totals.exempted,
    )


def aggregate_line(
    lines: Sequence[ScoreLine], *, title: str = "aggregate", thresholds: Thresholds | None = None
) -> ScoreLine:
    """Several clusters as one, each weighed by its Pods; the thresholds are those of the policy that judged them."""
    score = aggregate([(each.score, each.pods) for each in lines])
    return ScoreLine(
        title=title,
        score=score,
        classification=classify(score, thresholds),
        pods=sum(each.pods for each in lines),
        violations=sum(each.violations for each in lines),
        exempted=sum(each.exempted for each in lines),
    )

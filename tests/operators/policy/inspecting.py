"""Manifests against policies, in one call: what `homeostat policy check` does with the parts of large files."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from homeostat.objects.report.report import Problem, Report
from homeostat.objects.views.workload import DisruptionBudget
from homeostat.objects.yaml.document import Document
from homeostat.operators.policy.document import PolicyDocument
from homeostat.operators.policy.engine.inspection import judge
from homeostat.operators.policy.engine.manifest import Budget, Subject, read_manifests


def inspect(documents: Iterable[Document], policies: Sequence[PolicyDocument], *, now: float) -> Report:
    subjects: list[Subject] = []
    budgets: list[DisruptionBudget] = []
    problems: list[Problem] = []
    for each in read_manifests(documents):
        match each:
            case Subject():
                subjects.append(each)
            case Budget():
                budgets.append(each.budget)
            case Problem():
                problems.append(each)
    return msgspec.structs.replace(judge(subjects, policies, now=now, budgets=tuple(budgets)), problems=tuple(problems))

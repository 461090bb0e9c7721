"""Messages about manifests that `homeostat policy check` skipped, because a score of 100 may mean that nothing was
checked. Pure.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final

from homeostat.objects.report.report import Summary
from homeostat.operators.policy.document import PolicyDocument
from homeostat.operators.policy.engine.manifest import JOBS, Subject
from homeostat.operators.policy.engine.namespaces import is_system

_MOST_NAMES: Final = 5
_KINDS: Final = "Pods, Deployments, StatefulSets, DaemonSets, ReplicaSets, ReplicationControllers, Jobs or CronJobs"


def skipped_messages(
    subjects: Sequence[Subject], policies: Sequence[PolicyDocument], scores: Sequence[Summary], *, files: int
) -> Iterator[str]:
    """`scores` are in the order of the policies."""
    if not subjects:
        where = "the file" if files == 1 else f"{files} files"
        yield (
            f"nothing to check: found no Pod and no workload in {where}; pass manifests of {_KINDS}, "
            "or pipe the output of helm template or kustomize build"
        )
        return
    found = Counter(each.namespace for each in subjects)
    system = {name: count for name, count in found.items() if is_system(name)}
    left = len(subjects) - sum(system.values())
    if system:
        yield (
            f"skipped {len(subjects) - left} of {len(subjects)} Pods and workloads: they are in system namespaces "
            f"({_names(system)})"
        )
    for policy, score in zip(policies, scores, strict=True):
        if left and not score.subjects:
            yield (
                f"policy {policy.title} checks nothing: its spec.selector matches none of the {left} Pods and "
                "workloads; compare it with the labels of the Pods, which for a workload are those of its template"
            )
    if text := _jobs_message(subjects, policies):
        yield text


def _jobs_message(subjects: Sequence[Subject], policies: Sequence[PolicyDocument]) -> str:
    specs = (each.spec for each in policies)
    is_silent = (
        each.probes_for_jobs is None and (each.require_liveness_probe or each.require_readiness_probe) for each in specs
    )
    jobs = sum(each.kind in JOBS and not is_system(each.namespace) for each in subjects)
    if not jobs or not any(is_silent):
        return ""
    return (
        f"not checked for probes: {jobs} Jobs and CronJobs; their Pods are, live and at admission; "
        "to check both, or neither, set spec.probesForJobs"
    )


def _names(namespaces: dict[str, int]) -> str:
    listed = ", ".join(sorted(namespaces)[:_MOST_NAMES])
    return f"{listed} and {len(namespaces) - _MOST_NAMES} more" if len(namespaces) > _MOST_NAMES else listed

"""Which changes share a pull request: those of one branch of a manifests repository. Pure.

The branch has the credentials in its name, unless an annotation names it: then the first Deployment's are used.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence, Set

import msgspec

from homeostat.operators.images.batching.group import Group
from homeostat.operators.images.decide import Due, Plan
from homeostat.operators.images.engine.rules import PullRules, rules_of
from homeostat.operators.images.pulls.proposal import OpenProposal, unneeded_of

_KNOWN = frozenset({"UpToDate", "Pinned"})
"""Reasons after which there is nothing to propose. For any other reason, an open request stays as it is."""


class Batch(msgspec.Struct, frozen=True, kw_only=True):
    repository: str
    base: str
    branch: str
    rules: PullRules
    updates: tuple[Due, ...]
    unknown: frozenset[str]
    """Deployments of which it is not known now what they need, by `NAMESPACE/NAME`."""
    is_awaited: bool = False
    """Whether one of them has proposed a change on this branch."""
    unneeded: tuple[OpenProposal, ...] = ()
    """Proposals on this branch that nobody needs any more."""
    labels: tuple[str, ...] = ()


def without(batch: Batch, keys: Set[str]) -> Batch:
    """Without the updates of some workloads, whose changes stay on the branch if they are there."""
    if not any(each.tracked.key in keys for each in batch.updates):
        return batch
    return msgspec.structs.replace(
        batch,
        updates=tuple(each for each in batch.updates if each.tracked.key not in keys),
        unknown=batch.unknown.union(keys),
        is_awaited=True,
    )


def is_proposed(due: Due) -> bool:
    return due.rules.pull is not None


def branch_of(group: Group, rules: PullRules) -> str:
    """The branch that an annotation names, or one for each base branch and credential."""
    if rules.branch:
        return rules.branch
    parts = (group.secret_namespace, group.secret_name, rules.forge, *map(str, rules.secrets))
    return f"homeostat-images/{group.branch}-{hashlib.sha256(chr(0).join(parts).encode()).hexdigest()[:8]}"


def batches_of(group: Group, plan: Plan, proposals: Sequence[OpenProposal], refused: Iterable[str] = ()) -> list[Batch]:
    """One for each branch that has a request or needs one. `proposals` are those of the group, and `refused` has the
    Deployments that may not use what they name.
    """
    unknown = frozenset((*refused, *(each.tracked.key for each in plan.settled if each.reason not in _KNOWN)))
    due = [(each, each.rules.pull) for each in plan.updates]
    branches = {each.tracked.key: branch_of(group, pull) for each, pull in due if pull is not None}
    found: dict[str, list[Due]] = {}
    rules: dict[str, PullRules] = {}
    for each, pull in due:
        if pull is not None:
            found.setdefault(branches[each.tracked.key], []).append(each)
            rules.setdefault(branches[each.tracked.key], pull)
    unneeded = dict[str, list[OpenProposal]]()
    for proposal in unneeded_of(proposals, branches, unknown):
        unneeded.setdefault(proposal.branch, []).append(proposal)
        rules.setdefault(proposal.branch, rules_of(proposal.tracked.annotations).pull_rules)
    return [
        Batch(
            repository=group.repository,
            base=group.branch,
            branch=branch,
            rules=rules[branch],
            updates=tuple(found.get(branch, ())),
            unknown=unknown,
            is_awaited=any(each.branch == branch and each.key in unknown for each in proposals),
            unneeded=tuple(unneeded.get(branch, ())),
            labels=_labels(found.get(branch, ())),
        )
        for branch in rules
    ]


def _labels(updates: Iterable[Due]) -> tuple[str, ...]:
    return tuple(sorted({label for each in updates for label in each.rules.pull_rules.labels}))

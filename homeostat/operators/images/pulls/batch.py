"""Which changes share a pull request: those of one repository, branch, forge and credentials. Pure."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence

import msgspec

from homeostat.operators.images.batching.group import Group
from homeostat.operators.images.decide import Due, Plan
from homeostat.operators.images.engine.annotations import Tracked
from homeostat.operators.images.engine.rules import PullRules, RulesError, rules_of
from homeostat.operators.images.world import Record

_KNOWN = frozenset({"UpToDate", "Pinned"})
"""Reasons that say for sure that nothing is to be proposed. Any other one changes nothing of an open request."""


class Batch(msgspec.Struct, frozen=True):
    repository: str
    base: str
    branch: str
    rules: PullRules
    updates: tuple[Due, ...]
    unknown: frozenset[str]
    """Deployments of which it is not known now what they need, by `NAMESPACE/NAME`."""
    labels: tuple[str, ...] = ()


def is_proposed(due: Due) -> bool:
    return due.rules.pull is not None


def branch_of(group: Group, rules: PullRules) -> str:
    """The branch that an annotation names, or one for each base branch and credential."""
    if rules.branch:
        return rules.branch
    parts = (group.secret_namespace, group.secret_name, rules.forge, *map(str, rules.secrets))
    return f"homeostat-images/{group.branch}-{hashlib.sha256(chr(0).join(parts).encode()).hexdigest()[:8]}"


def batches_of(group: Group, members: Sequence[Tracked], plan: Plan, records: Mapping[str, Record]) -> list[Batch]:
    """All that may have a request or need one. A Deployment that no longer asks for requests may have left one."""
    unknown = frozenset(each.tracked.key for each in plan.settled if each.reason not in _KNOWN)
    due = {each.tracked.key: each for each in plan.updates if is_proposed(each)}
    found: dict[tuple[str, PullRules], list[Tracked]] = {}
    for tracked in members:
        record = records[tracked.key]
        rules = _pull_rules(tracked)
        if rules is None:
            continue
        if not rules.is_on and record.branch:
            found.setdefault((record.branch, rules.shared), [])
        elif rules.is_on and (tracked.key in due or record.branch or record.attempt):
            found.setdefault((branch_of(group, rules), rules.shared), []).append(tracked)
    return [
        Batch(
            group.repository,
            group.branch,
            branch,
            rules,
            tuple(due[each.key] for each in some if each.key in due),
            unknown,
            _labels(due[each.key] for each in some if each.key in due),
        )
        for (branch, rules), some in found.items()
    ]


def _pull_rules(tracked: Tracked) -> PullRules | None:
    try:
        return rules_of(tracked.annotations).pull_rules
    except RulesError:
        return None


def _labels(updates: Iterable[Due]) -> tuple[str, ...]:
    return tuple(sorted({label for each in updates for label in each.rules.pull_rules.labels}))

"""Which of the Nodes that a Pod fits on it prefers: a score for each, made as kube-scheduler makes it. Pure.

Considered are taints with `PreferNoSchedule`, preferred affinity to Nodes, preferred affinity and anti-affinity to
Pods, and topology spread with `ScheduleAnyway`. Preferences of placed Pods about a new one are ignored.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

import msgspec

from homeostat.objects.json import JsonObject
from homeostat.operators.workloads.api import PodSpec
from homeostat.operators.workloads.scheduling.fit import NodeFacts, matches_node, matches_term, tolerates
from homeostat.operators.workloads.scheduling.neighbours import Spread, Term, domain_counts, spread_of, term_of
from homeostat.operators.workloads.scheduling.tallies import Group

_PREFERRED: Final = "preferredDuringSchedulingIgnoredDuringExecution"
_BEST: Final = 100.0
_OF_TAINTS: Final = 3
_OF_OTHERS: Final = 2
"""How much each kind of preference counts."""

Count = Callable[[Group], Counter[str]]
"""The Pods of a group by Node."""


class Preferences(msgspec.Struct, frozen=True):
    nodes: tuple[tuple[int, JsonObject], ...] = ()
    """Terms of Nodes by weight."""
    pods: tuple[tuple[int, Term], ...] = ()
    """Terms of Pods by weight, which is negative if the Pod wants to be apart."""
    spread: tuple[Spread, ...] = ()


NO_PREFERENCES: Final = Preferences()


def preferences_of(namespace: str, labels: Mapping[str, str], spec: PodSpec) -> Preferences:
    affinity, spread = spec.affinity, spec.topology_spread_constraints
    if not spread and not affinity:
        return NO_PREFERENCES
    nodes = tuple((each["weight"], each["preference"]) for each in _preferred(affinity.get("nodeAffinity")))
    pods = tuple(
        (sign * each["weight"], term_of(namespace, each["podAffinityTerm"]))
        for kind, sign in (("podAffinity", 1), ("podAntiAffinity", -1))
        for each in _preferred(affinity.get(kind))
    )
    loose = [each for each in spread if each.get("whenUnsatisfiable") == "ScheduleAnyway"]
    if not (nodes or pods or loose):
        return NO_PREFERENCES
    return Preferences(nodes, pods, tuple(spread_of(namespace, labels, each) for each in loose))


def _preferred(affinity: JsonObject | None) -> Sequence[JsonObject]:
    return (affinity or {}).get(_PREFERRED) or ()


def scores_of(
    spec: PodSpec, wanted: Preferences, among: Sequence[NodeFacts], nodes: Mapping[str, NodeFacts], count: Count
) -> list[float]:
    """Of the Nodes that the Pod fits on, `among` all `nodes`; the highest is the best."""
    total = [0.0] * len(among)
    kinds = (
        (_OF_TAINTS, _least([sum(not tolerates(spec, each) for each in node.soft_taints) for node in among])),
        (_OF_OTHERS, _most([_of_node(wanted.nodes, node) for node in among])),
        (_OF_OTHERS, _between(_of_pods(wanted.pods, among, nodes, count))),
        (_OF_OTHERS, _even(_of_spread(spec, wanted.spread, among, nodes, count))),
    )
    for weight, scores in kinds:
        total = [sum(each) for each in zip(total, (weight * score for score in scores), strict=True)]
    return total


def _of_node(terms: Iterable[tuple[int, JsonObject]], node: NodeFacts) -> int:
    return sum(weight for weight, term in terms if matches_term(term, node.labels, node.name))


def _of_pods(
    terms: Iterable[tuple[int, Term]], among: Sequence[NodeFacts], nodes: Mapping[str, NodeFacts], count: Count
) -> list[int]:
    found = [0] * len(among)
    for weight, term in terms:
        domains = domain_counts(nodes, term.topology, count(term.group))
        for index, node in enumerate(among):
            if term.topology in node.labels:
                found[index] += weight * domains[node.labels[term.topology]]
    return found


def _of_spread(
    spec: PodSpec,
    constraints: Sequence[Spread],
    among: Sequence[NodeFacts],
    nodes: Mapping[str, NodeFacts],
    count: Count,
) -> list[float | None]:
    """None for a Node without one of the labels: it is the worst."""
    found: list[float | None] = [
        0.0 if all(each.topology in node.labels for each in constraints) else None for node in among
    ]
    eligible = {name: each for name, each in nodes.items() if constraints and matches_node(spec, each.labels, name)}
    for each in constraints:
        domains = domain_counts(eligible, each.topology, count(each.group))
        size = len({node.labels.get(each.topology) for node in among} - {None})
        for index, node in enumerate(among):
            score = found[index]
            if score is not None:
                found[index] = score + domains[node.labels[each.topology]] * math.log(size + 2) + each.most - 1
    return found


def _most(scores: Sequence[float]) -> list[float]:
    highest = max(scores, default=0.0)
    return [_BEST * each / highest if highest else 0.0 for each in scores]


def _least(scores: Sequence[float]) -> list[float]:
    return [_BEST - each for each in _most(scores)]


def _between(scores: Sequence[float]) -> list[float]:
    lowest, highest = min(scores, default=0.0), max(scores, default=0.0)
    return [_BEST * (each - lowest) / (highest - lowest) if highest > lowest else 0.0 for each in scores]


def _even(scores: Sequence[float | None]) -> list[float]:
    known = [each for each in scores if each is not None]
    lowest, highest = min(known, default=0.0), max(known, default=0.0)
    return [
        0.0 if each is None else _BEST * (highest + lowest - each) / highest if highest else _BEST for each in scores
    ]

"""What a Pod wants of the Pods around it: required affinity and anti-affinity, and spreading that must hold. Pure.

A `namespaceSelector` other than the empty one, which selects all namespaces, is not considered.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from typing import Final

import msgspec

from homeostat.objects.errors import BadRequestError
from homeostat.objects.json import JsonObject, decode_stored, encode
from homeostat.objects.selectors import NOTHING, LabelSelector, selector_of
from homeostat.operators.workloads.api import PodSpec
from homeostat.operators.workloads.scheduling.fit import NodeFacts, Obstacle, matches_node
from homeostat.operators.workloads.scheduling.tallies import Group, Member

_SPREAD: Final = "node(s) didn't match pod topology spread constraints"
UNEVEN: Final = Obstacle(_SPREAD, is_others=True)
UNLABELLED: Final = Obstacle(f"{_SPREAD} (missing required label)")
NOT_NEAR: Final = Obstacle("node(s) didn't match pod affinity rules")
NOT_APART: Final = Obstacle("node(s) didn't match pod anti-affinity rules", is_others=True)
UNWELCOME: Final = Obstacle("node(s) didn't satisfy existing pods anti-affinity rules", is_others=True)
_REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"


class Term(msgspec.Struct, frozen=True):
    group: Group
    topology: str
    """The label of Nodes that says what is near."""


class Spread(msgspec.Struct, frozen=True):
    group: Group
    topology: str
    most: int
    """The most Pods that a domain may have more than the emptiest one."""
    domains: int
    """If there are fewer domains, the emptiest one counts as empty."""


class Constraints(msgspec.Struct, frozen=True):
    near: tuple[Term, ...] = ()
    apart: tuple[Term, ...] = ()
    spread: tuple[Spread, ...] = ()


UNCONSTRAINED: Final = Constraints()


def constraints_of(namespace: str, labels: Mapping[str, str], spec: PodSpec) -> Constraints:
    affinity, spread = spec.affinity, spec.topology_spread_constraints
    if not spread and not affinity.get("podAffinity") and not affinity.get("podAntiAffinity"):
        return UNCONSTRAINED
    strict = [each for each in spread if each.get("whenUnsatisfiable") == "DoNotSchedule"]
    return Constraints(
        _terms(namespace, affinity.get("podAffinity")),
        _terms(namespace, affinity.get("podAntiAffinity")),
        tuple(spread_of(namespace, labels, each) for each in strict),
    )


def _terms(namespace: str, affinity: JsonObject | None) -> tuple[Term, ...]:
    return tuple(term_of(namespace, each) for each in (affinity or {}).get(_REQUIRED) or ())


def term_of(namespace: str, term: JsonObject) -> Term:
    """A term of affinity to Pods, of a Pod in `namespace`."""
    selects_all = term.get("namespaceSelector") == {}
    given = term.get("namespaces") or (namespace,)
    group = Group(frozenset(() if selects_all else given), _selector(term.get("labelSelector")))
    return Term(group, term.get("topologyKey", ""))


def spread_of(namespace: str, labels: Mapping[str, str], constraint: JsonObject) -> Spread:
    selector = constraint.get("labelSelector")
    keys = [each for each in constraint.get("matchLabelKeys") or () if each in labels]
    if keys and isinstance(selector, dict):
        own = {each: labels[each] for each in keys}
        selector = {**selector, "matchLabels": {**(selector.get("matchLabels") or {}), **own}}
    group = Group(frozenset((namespace,)), _selector(selector))
    return Spread(group, constraint["topologyKey"], constraint["maxSkew"], constraint.get("minDomains") or 1)


def _selector(value: JsonObject | None) -> LabelSelector:
    return _parsed(encode(value))


@lru_cache(1024)
def _parsed(encoded: bytes) -> LabelSelector:
    """One selector for all Pods of a workload: two that were parsed from the same text are not equal, and a group is
    found again by its selector.
    """
    try:
        return selector_of(decode_stored(encoded))
    except BadRequestError:
        return NOTHING


def domain_counts(nodes: Mapping[str, NodeFacts], topology: str, counts: Counter[str]) -> Counter[str]:
    """Pods by domain, of Pods by Node."""
    found: Counter[str] = Counter()
    for name, count in counts.items():
        node = nodes.get(name)
        if count and node is not None and topology in node.labels:
            found[node.labels[topology]] += count
    return found


class Neighbours:
    """The Pods that matter for the placement of one: those that its terms select, and those whose terms select it.
    `averse` are anti-affinity terms of the latter, each with the Nodes that its Pods are on.
    """

    def __init__(
        self,
        namespace: str,
        labels: Mapping[str, str],
        spec: PodSpec,
        *,
        constraints: Constraints,
        nodes: Mapping[str, NodeFacts],
        count: Callable[[Group], Counter[str]],
        averse: Mapping[Term, Counter[str]],
    ) -> None:
        self._nodes, self._constraints, self._namespace, self._labels = nodes, constraints, namespace, labels
        self._near = [domain_counts(nodes, each.topology, count(each.group)) for each in constraints.near]
        self._apart = [domain_counts(nodes, each.topology, count(each.group)) for each in constraints.apart]
        self._is_first = not any(self._near) and all(self._is_own(each.group) for each in constraints.near)
        eligible = [each for each in nodes.values() if self._is_eligible(spec, each)] if constraints.spread else []
        self._eligible = {each.name for each in eligible}
        self._spread = [_by_domain(each, count(each.group), eligible) for each in constraints.spread]
        self._least = [self._emptiest(index) for index in range(len(self._spread))]
        self._closed: dict[str, Counter[str]] = {}
        for term, places in averse.items():
            if self._is_own(term.group):
                self._closed.setdefault(term.topology, Counter()).update(domain_counts(nodes, term.topology, places))

    def obstacle(self, node: NodeFacts) -> Obstacle | None:
        """Why the Pod must not be on the Node; None if it may."""
        labels = node.labels
        for spread, counts, least in zip(self._constraints.spread, self._spread, self._least, strict=True):
            domain = labels.get(spread.topology)
            if domain is None:
                return UNLABELLED
            if counts[domain] + self._is_own(spread.group) - least > spread.most:
                return UNEVEN
        for term, near in zip(self._constraints.near, self._near, strict=True):
            if term.topology not in labels or (not near[labels[term.topology]] and not self._is_first):
                return NOT_NEAR
        for term, apart in zip(self._constraints.apart, self._apart, strict=True):
            if term.topology in labels and apart[labels[term.topology]]:
                return NOT_APART
        return UNWELCOME if any(key in labels and closed[labels[key]] for key, closed in self._closed.items()) else None

    def note(self, member: Member, apart: Iterable[Term], change: int) -> None:
        """As if a Pod, which wants others to be `apart`, were placed (1) or removed (-1)."""
        labels = self._nodes[member.node].labels
        constraints = self._constraints
        for terms, counts in ((constraints.near, self._near), (constraints.apart, self._apart)):
            for term, found in zip(terms, counts, strict=True):
                if term.topology in labels and term.group.includes(member.namespace, member.labels):
                    found[labels[term.topology]] += change
        for term in apart:
            if term.topology in labels and self._is_own(term.group):
                self._closed[term.topology][labels[term.topology]] += change
        if member.node in self._eligible:
            for index, spread in enumerate(constraints.spread):
                if spread.group.includes(member.namespace, member.labels):
                    self._spread[index][labels[spread.topology]] += change
                    self._least[index] = self._emptiest(index)

    def _is_own(self, group: Group) -> bool:
        """Whether the Pod itself is one of the group."""
        return group.includes(self._namespace, self._labels)

    def _is_eligible(self, spec: PodSpec, node: NodeFacts) -> bool:
        return matches_node(spec, node.labels, node.name) and all(
            each.topology in node.labels for each in self._constraints.spread
        )

    def _emptiest(self, index: int) -> int:
        """The Pods in the emptiest domain."""
        counts = self._spread[index]
        return min(counts.values(), default=0) if len(counts) >= self._constraints.spread[index].domains else 0


def _by_domain(spread: Spread, counts: Counter[str], nodes: Iterable[NodeFacts]) -> Counter[str]:
    """Also domains without Pods."""
    found: Counter[str] = Counter()
    for node in nodes:
        found[node.labels[spread.topology]] += counts[node.name]
    return found

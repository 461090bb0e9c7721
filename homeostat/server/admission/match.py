"""Matches writes against webhooks and policies: rules, and selectors of namespaces and objects. Pure.

Rules depend only on kind, subresource and operation, so they are evaluated once for each such `Occasion`. `narrow`
returns what remains to be checked for every single write, or None if the rules do not match.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from homeostat.objects.json import JsonObject
from homeostat.objects.selectors import LabelSelector, selector_of
from homeostat.server.kinds.registry import Kind


class Occasion(NamedTuple):
    kind: Kind
    subresource: str
    operation: str


class Selected(Protocol):
    """The properties of a write that selectors use."""

    @property
    def name(self) -> str: ...
    @property
    def is_in_namespace(self) -> bool:
        """Whether namespace selectors apply: to namespaced objects and to Namespaces."""

    def namespace_labels(self) -> Mapping[str, str]:
        """`NotFoundError` if the namespace does not exist."""

    def labels(self) -> Sequence[Mapping[str, str]]:
        """The labels of the new and of the old object, as far as they exist."""


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule; `names` are the names of single objects, empty for all."""

    operations: frozenset[str]
    groups: frozenset[str]
    versions: frozenset[str]
    resources: tuple[tuple[str, str], ...]
    scope: str = "*"
    names: frozenset[str] = frozenset()

    def matches(self, occasion: Occasion) -> bool:
        kind = occasion.kind
        return (
            _has(self.operations, occasion.operation)
            and _has(self.groups, kind.group)
            and _has(self.versions, kind.version)
            and (self.scope == "*" or (self.scope == "Namespaced") == kind.namespaced)
            and any(
                resource in ("*", kind.plural) and subresource in ("*", occasion.subresource)
                for resource, subresource in self.resources
            )
        )


def _has(values: frozenset[str], value: str) -> bool:
    return value in values or "*" in values


def rule_of(value: JsonObject) -> Rule:
    """Read a rule of a configuration. `pods/*` matches pods themselves too, as in Kubernetes."""
    return Rule(
        operations=frozenset(value.get("operations") or ()),
        groups=frozenset(value.get("apiGroups") or ()),
        versions=frozenset(value.get("apiVersions") or ()),
        resources=tuple((each.partition("/")[0], each.partition("/")[2]) for each in value.get("resources") or ()),
        scope=value.get("scope") or "*",
        names=frozenset(value.get("resourceNames") or ()),
    )


@dataclass(frozen=True, slots=True)
class Narrowed:
    """What remains after the rules: names and selectors. `included` is the kind whose version the webhook sees."""

    included: tuple[tuple[frozenset[str], Kind], ...]
    excluded: tuple[frozenset[str], ...]
    namespaces: LabelSelector
    objects: LabelSelector
    is_open: bool
    """The selectors are empty."""

    def kind_for(self, write: Selected) -> Kind | None:
        """The kind whose version the webhook or policy sees; None if it does not match the write."""
        name = write.name
        for names in self.excluded:
            if not names or name in names:
                return None
        for names, kind in self.included:
            if not names or name in names:
                return kind if self.is_open or self._selects(write) else None
        return None

    def _selects(self, write: Selected) -> bool:
        if self.objects and not any(map(self.objects.matches, write.labels())):
            return False
        return not (self.namespaces and write.is_in_namespace) or self.namespaces.matches(write.namespace_labels())


@dataclass(frozen=True, slots=True)
class Match:
    """`rules` None matches every write. With `is_exact`, a rule matches only the version that it names."""

    rules: tuple[Rule, ...] | None
    excluded: tuple[Rule, ...]
    is_exact: bool
    namespaces: LabelSelector
    objects: LabelSelector

    def narrow(self, occasion: Occasion, others: Sequence[Kind]) -> Narrowed | None:
        """What remains to be checked for each write; `others` are the other versions of the kind."""
        included = [(_ALL, occasion.kind)] if self.rules is None else self._pick(self.rules, occasion, others)
        excluded = tuple(names for names, _ in self._pick(self.excluded, occasion, others))
        if not included or _ALL in excluded:
            return None
        is_open = not (self.namespaces or self.objects)
        return Narrowed(tuple(included), excluded, self.namespaces, self.objects, is_open)

    def _pick(
        self, rules: tuple[Rule, ...], occasion: Occasion, others: Sequence[Kind]
    ) -> list[tuple[frozenset[str], Kind]]:
        picked = [(rule.names, occasion.kind) for rule in rules if rule.matches(occasion)]
        if not self.is_exact:
            alike = [occasion._replace(kind=kind) for kind in others]
            picked += [(rule.names, each.kind) for rule in rules for each in alike if rule.matches(each)]
        return picked


_ALL: frozenset[str] = frozenset()


def match_of(value: JsonObject, rules: tuple[Rule, ...] | None) -> Match:
    """The `MatchResources` of a policy or the fields of a webhook that have the same names."""
    return Match(
        rules=rules,
        excluded=tuple(rule_of(each) for each in value.get("excludeResourceRules") or ()),
        is_exact=value.get("matchPolicy") == "Exact",
        namespaces=selector_of(value.get("namespaceSelector") or {}),
        objects=selector_of(value.get("objectSelector") or {}),
    )


def resource_match(value: JsonObject) -> Match:
    """The `MatchResources` of a policy or a binding; without rules it matches everything."""
    rules = tuple(rule_of(each) for each in value.get("resourceRules") or ())
    return match_of(value, rules or None)

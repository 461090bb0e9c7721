"""Who may do something, by roles and their bindings. Pure.

    who = WhoCan(Wanted("delete", resource="pods", namespace="shop", is_namespaced=True))
    who.add_roles(roles)
    who.add_bindings(bindings)
    who.grants

Roles come first, since a binding says only whom it binds to which role. An aggregated role has the rules of the roles
that it selects, whether or not a controller has written them into it. Only RBAC is evaluated: other authorizers of
a cluster may allow more.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Final, NamedTuple

import msgspec

from homeostat.objects.access.rule import Rule, allows_any_name, rule_of
from homeostat.objects.errors import BadRequestError
from homeostat.objects.json import JsonObject
from homeostat.objects.selectors import NOTHING, LabelSelector, selector_of

MASTERS: Final = "system:masters"
_NAMELESS: Final = frozenset({"create", "deletecollection"})
"""Requests with these verbs name no object, so a rule for one of a name never allows them."""
_EVERYBODY: Final = {
    "system:authenticated": "everybody who signs in",
    "system:unauthenticated": "everybody who does not sign in",
    "system:serviceaccounts": "every service account",
}


class Wanted(msgspec.Struct, frozen=True):
    """`namespace` is empty for any of them. `path` is set for what is no object (`/metrics`)."""

    verb: str
    group: str = ""
    resource: str = ""
    subresource: str = ""
    namespace: str = ""
    name: str = ""
    path: str = ""
    is_namespaced: bool = False

    @property
    def scope(self) -> str | None:
        """The namespace whose bindings count, empty for those of all; None if only bindings of the cluster do."""
        if not self.path and (self.group, self.resource) == ("", "namespaces"):
            # A request for one Namespace is in that namespace.
            return self.name or None
        return self.namespace if self.is_namespaced and not self.path else None


class _Ref(msgspec.Struct, frozen=True):
    kind: str = ""
    name: str = ""


class Subject(msgspec.Struct, frozen=True, order=True, omit_defaults=True):
    kind: str = ""
    namespace: str = ""
    name: str = ""

    @property
    def title(self) -> str:
        return f"{self.namespace}/{self.name}" if self.namespace else self.name

    @property
    def note(self) -> str:
        """Of a group that the server puts users into, who is in it."""
        if self.kind != "Group":
            return ""
        among = self.name.removeprefix("system:serviceaccounts:")
        return _EVERYBODY.get(self.name, "") if among == self.name else f"every service account of {among}"


class _Metadata(msgspec.Struct, frozen=True):
    name: str = ""
    namespace: str = ""
    labels: dict[str, str] | None = None


class _AggregationRule(msgspec.Struct, frozen=True, rename="camel"):
    cluster_role_selectors: list[JsonObject] | None = None


class RoleObject(msgspec.Struct, frozen=True, rename="camel"):
    """A Role or a ClusterRole."""

    metadata: _Metadata
    rules: list[JsonObject] | None = None
    aggregation_rule: _AggregationRule | None = None

    @property
    def selectors(self) -> list[LabelSelector]:
        """Of an aggregated role."""
        rule = self.aggregation_rule
        return list(map(_selector, (rule and rule.cluster_role_selectors) or ()))


class BindingObject(msgspec.Struct, frozen=True, rename="camel"):
    """A RoleBinding or a ClusterRoleBinding."""

    metadata: _Metadata
    role_ref: _Ref
    subjects: list[Subject] | None = None


class Grant(NamedTuple):
    """A subject, and what allows it in `namespace`; empty for all of them. Without `binding` no role is needed."""

    namespace: str
    subject: Subject
    binding: str = ""
    role_kind: str = ""
    role: str = ""
    names: tuple[str, ...] = ()
    """The only objects that it is about; empty for all."""

    @property
    def binding_kind(self) -> str:
        return "RoleBinding" if self.namespace else "ClusterRoleBinding"

    @property
    def role_title(self) -> str:
        return f"{self.role_kind}/{self.role}"


class WhoCan:
    def __init__(self, wanted: Wanted) -> None:
        self._wanted = wanted
        self._roles: dict[tuple[str, str], tuple[str, ...]] = {}
        self._aggregated: dict[str, list[LabelSelector]] = {}
        self._labels: dict[str, dict[str, str]] = {}
        """Of the ClusterRoles that allow it or are aggregated."""
        self._gathered: dict[str, tuple[str, ...] | None] = {}
        """What aggregated roles allow, which very many bindings may grant."""
        self._found: list[Grant] = []

    def add_roles(self, roles: Iterable[RoleObject]) -> None:
        for each in roles:
            name, namespace = each.metadata.name, each.metadata.namespace
            if selectors := each.selectors:
                self._aggregated[name] = selectors
            elif (names := self._names(each.rules or ())) is not None:
                self._roles[namespace, name] = names
            else:
                continue
            if not namespace:
                self._labels[name] = each.metadata.labels or {}

    def add_bindings(self, bindings: Iterable[BindingObject]) -> None:
        for each in bindings:
            namespace, ref = each.metadata.namespace, each.role_ref
            names = self._names_of(namespace if ref.kind == "Role" else "", ref.name)
            if names is None:
                continue
            subjects = (_subject(subject, namespace) for subject in each.subjects or ())
            self._found += [
                Grant(namespace, subject, each.metadata.name, ref.kind, ref.name, names)
                for subject in subjects
                if subject is not None
            ]

    @property
    def grants(self) -> list[Grant]:
        """Those of all namespaces first, and those that the server itself declares last. Members of `system:masters`
        need no role.
        """
        found = sorted(self._found, key=_order)
        masters = Subject("Group", "", MASTERS)
        if any(each.subject == masters and not each.namespace and not each.names for each in found):
            return found
        return [Grant("", masters), *found]

    def _names_of(self, namespace: str, role: str) -> tuple[str, ...] | None:
        """As `_names`, of a role that was added."""
        if namespace or role not in self._aggregated:
            return self._roles.get((namespace, role))
        if role not in self._gathered:
            self._gathered[role] = self._gather(role)
        return self._gathered[role]

    def _gather(self, role: str) -> tuple[str, ...] | None:
        found: list[tuple[str, ...]] = []
        seen: set[str] = set()
        waiting = deque(self._aggregated[role])
        while waiting:
            selector = waiting.popleft()
            for name, labels in self._labels.items():
                if name in seen or not selector.matches(labels):
                    continue
                seen.add(name)
                if name in self._aggregated:
                    waiting.extend(self._aggregated[name])
                else:
                    found.append(self._roles["", name])
        return None if not found else () if () in found else tuple(dict.fromkeys(chain(*found)))

    def _names(self, rules: Sequence[JsonObject]) -> tuple[str, ...] | None:
        """The names that the rules are limited to, empty for all; None if they do not allow it."""
        found: list[str] = []
        for each in map(rule_of, rules):
            if not allows_any_name(each, self._wanted):
                continue
            if not each.names or self._wanted.path:
                return ()
            found += self._limit(each)
        return tuple(dict.fromkeys(found)) or None

    def _limit(self, rule: Rule) -> tuple[str, ...]:
        if self._wanted.verb in _NAMELESS:
            return ()
        if self._wanted.name:
            return (self._wanted.name,) if self._wanted.name in rule.names else ()
        return rule.names


def _selector(value: JsonObject) -> LabelSelector:
    try:
        return selector_of(value)
    except BadRequestError:
        return NOTHING


def _order(grant: Grant) -> tuple[bool, Grant]:
    return grant.binding.startswith("system:"), grant


def _subject(subject: Subject, namespace: str) -> Subject | None:
    """Of a binding in that namespace, which is meant where a service account has none; None if it matches nobody."""
    if subject.kind != "ServiceAccount" or subject.namespace:
        return subject
    return msgspec.structs.replace(subject, namespace=namespace) if namespace else None

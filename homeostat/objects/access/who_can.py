"""Who may do something, by roles and their bindings. Pure.

    who = WhoCan(Wanted("delete", resource="pods", namespace="shop", is_namespaced=True))
    who.add_role(...); who.add_binding(...)
    who.grants

Roles come first, since a binding says only whom it binds to which role. Only RBAC is evaluated: other authorizers of
a cluster may allow more.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

import msgspec

from homeostat.objects.access.rule import Rule, allows_any_name, rule_of
from homeostat.objects.json import JsonObject

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


class RoleObject(msgspec.Struct, frozen=True):
    """A Role or a ClusterRole."""

    metadata: _Metadata
    rules: list[JsonObject] | None = None


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
        self._found: list[Grant] = []

    def add_roles(self, roles: Iterable[RoleObject]) -> None:
        for each in roles:
            names = self._names(each.rules or ())
            if names is not None:
                self._roles[each.metadata.namespace, each.metadata.name] = names

    def add_bindings(self, bindings: Iterable[BindingObject]) -> None:
        for each in bindings:
            namespace, ref = each.metadata.namespace, each.role_ref
            names = self._roles.get((namespace if ref.kind == "Role" else "", ref.name))
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


def _order(grant: Grant) -> tuple[bool, Grant]:
    return grant.binding.startswith("system:"), grant


def _subject(subject: Subject, namespace: str) -> Subject | None:
    """Of a binding in that namespace, which is meant where a service account has none; None if it matches nobody."""
    if subject.kind != "ServiceAccount" or subject.namespace:
        return subject
    return msgspec.structs.replace(subject, namespace=namespace) if namespace else None

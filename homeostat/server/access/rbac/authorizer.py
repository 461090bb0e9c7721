"""The RBAC authorizer: roles and bindings, indexed by subject.

`put` and `remove` keep `Rbac` equal to the stored roles and bindings; `decide` decides on a call. The result is that of
a scan over all bindings, without the scan: bindings are found by user and group, and a decision is cached until the
next change. An aggregated ClusterRole has the rules of the roles that it selects, whatever rules are written in it.

Expressions of admission policies ask from worker threads. So a lock keeps a decision from being made, or cached, while
the roles and bindings change; a cached decision needs no lock.
"""

from __future__ import annotations

from collections.abc import Iterator
from threading import RLock
from typing import NamedTuple

import msgspec

from homeostat.objects.access.rule import Rule, allows_any_name, rule_of
from homeostat.objects.errors import quoted
from homeostat.objects.json import JsonObject
from homeostat.server.access.attributes import Attributes, Decision
from homeostat.server.access.rbac.aggregation import Aggregation
from homeostat.server.access.user import User, service_account_name

GROUP = "rbac.authorization.k8s.io"
_MAX_VERDICTS = 10_000


class RoleRef(NamedTuple):
    kind: str
    name: str


class Grant(NamedTuple):
    """A rule that a user has, and the binding that grants it."""

    rule: Rule
    source: str


class _Binding(msgspec.Struct, frozen=True):
    ref: RoleRef
    subjects: tuple[tuple[str, str], ...]
    """For each subject its key in the index and its description, in the order of the object."""
    description: str

    def source(self, subject: int) -> str:
        return f"{self.description} to {self.subjects[subject][1]}"


class _Verdict(NamedTuple):
    """A cached decision on a call, without regard to the object's name."""

    by_name: dict[str, tuple[_Binding, int]]
    """By name of an object: the first binding that allows the call, and its subject. There may be thousands."""
    otherwise: Decision


_NOTHING: dict[str, int] = {}


class Rbac:
    def __init__(self) -> None:
        self._roles: dict[tuple[str, str], tuple[Rule, ...]] = {}
        self._aggregation = Aggregation()
        self._bindings: dict[tuple[str, str], _Binding] = {}
        self._by_subject: dict[str, dict[str, dict[str, int]]] = {}
        self._verdicts: dict[tuple[object, ...], _Verdict] = {}
        self._lock = RLock()

    def put(self, kind: str, namespace: str, name: str, obj: JsonObject) -> None:
        """Add or replace a Role, ClusterRole, RoleBinding or ClusterRoleBinding; any other kind is a KeyError."""
        with self._lock:
            self._put(kind, namespace, name, obj)
            self._verdicts.clear()

    def _put(self, kind: str, namespace: str, name: str, obj: JsonObject) -> None:
        match kind:
            case "Role":
                self._roles[namespace, name] = tuple(rule_of(rule) for rule in obj.get("rules") or ())
            case "ClusterRole":
                self._aggregation.put(name, obj)
            case "RoleBinding" | "ClusterRoleBinding":
                self._unbind(namespace, name)
                self._bind(namespace, name, _binding_of(kind, namespace, name, obj))
            case _:
                raise KeyError(kind)

    def remove(self, kind: str, namespace: str, name: str) -> None:
        with self._lock:
            self._remove(kind, namespace, name)
            self._verdicts.clear()

    def _remove(self, kind: str, namespace: str, name: str) -> None:
        match kind:
            case "Role":
                self._roles.pop((namespace, name), None)
            case "ClusterRole":
                self._aggregation.remove(name)
            case "RoleBinding" | "ClusterRoleBinding":
                self._unbind(namespace, name)
            case _:
                raise KeyError(kind)

    def decide(self, attributes: Attributes) -> Decision:
        user = attributes.user
        key = (
            user.name,
            user.groups,
            attributes.verb,
            attributes.group,
            attributes.resource,
            attributes.subresource,
            attributes.namespace,
            attributes.path,
        )
        verdict = self._verdicts.get(key)
        if verdict is None:
            with self._lock:
                verdict = self._judge(attributes)
                if len(self._verdicts) >= _MAX_VERDICTS:
                    self._verdicts.clear()
                self._verdicts[key] = verdict
        if verdict.by_name and (found := verdict.by_name.get(attributes.name)):
            return _allowed(*found)
        return verdict.otherwise

    def grants(self, user: User, namespace: str) -> tuple[list[Grant], list[str]]:
        """The rules of a user in a namespace ("": none) and cluster-wide, and what could not be resolved."""
        grants: list[Grant] = []
        problems: list[str] = []
        with self._lock:
            found = list(self._rules_of(user, namespace))
        for binding, subject, rules in found:
            if rules is None:
                problems.append(not_found(binding.ref))
            else:
                source = binding.source(subject)
                grants += [Grant(rule, source) for rule in rules]
        return grants, problems

    def _rules_of(self, user: User, namespace: str) -> Iterator[tuple[_Binding, int, tuple[Rule, ...] | None]]:
        for binding_namespace, binding, subject in self._bindings_of(user, namespace):
            yield binding, subject, self.rules_of(binding.ref, binding_namespace)

    def rules_of(self, ref: RoleRef, namespace: str) -> tuple[Rule, ...] | None:
        """The rules that a binding in `namespace` grants; None if the role does not exist."""
        if ref.kind == "ClusterRole":
            return self._aggregation.rules_of(ref.name)
        return self._roles.get((namespace, ref.name)) if ref.kind == "Role" else None

    def _judge(self, attributes: Attributes) -> _Verdict:
        by_name: dict[str, tuple[_Binding, int]] = {}
        problems: list[str] = []
        for binding, subject, rules in self._rules_of(attributes.user, attributes.namespace):
            if rules is None:
                problems.append(not_found(binding.ref))
                continue
            for rule in rules:
                if not allows_any_name(rule, attributes):
                    continue
                if not rule.names or attributes.path:
                    return _Verdict(by_name, _allowed(binding, subject))
                for name in rule.names:
                    by_name.setdefault(name, (binding, subject))
        return _Verdict(by_name, Decision(False, f"RBAC: {join_problems(problems)}" if problems else ""))

    def _bindings_of(self, user: User, namespace: str) -> Iterator[tuple[str, _Binding, int]]:
        """Each binding of the user once, with the first subject that matches: ClusterRoleBindings first, by name."""
        subjects = [f"u:{user.name}", *[f"g:{group}" for group in user.groups]]
        for scope in ("", namespace) if namespace else ("",):
            first: dict[str, int] = {}
            for subject in subjects:
                for name, place in self._by_subject.get(subject, {}).get(scope, _NOTHING).items():
                    first[name] = min(place, first.get(name, place))
            for name in sorted(first):
                yield scope, self._bindings[scope, name], first[name]

    def _bind(self, namespace: str, name: str, binding: _Binding) -> None:
        self._bindings[namespace, name] = binding
        for place, (subject, _) in enumerate(binding.subjects):
            if subject:
                self._by_subject.setdefault(subject, {}).setdefault(namespace, {}).setdefault(name, place)

    def _unbind(self, namespace: str, name: str) -> None:
        binding = self._bindings.pop((namespace, name), None)
        for subject, _ in binding.subjects if binding else ():
            scopes = self._by_subject.get(subject, {})
            scopes.get(namespace, {}).pop(name, None)
            if not scopes.get(namespace):
                scopes.pop(namespace, None)
            if not scopes:
                self._by_subject.pop(subject, None)


def _allowed(binding: _Binding, subject: int) -> Decision:
    return Decision(True, f"RBAC: allowed by {binding.source(subject)}")


def role_ref(obj: JsonObject) -> RoleRef:
    ref = obj.get("roleRef") or {}
    return RoleRef(ref.get("kind", ""), ref.get("name", ""))


def not_found(ref: RoleRef) -> str:
    return f"{ref.kind.lower()}.{GROUP} {quoted(ref.name)} not found"


def join_problems(problems: list[str]) -> str:
    """Several problems as Kubernetes formats them: each once, in brackets unless it is the only one."""
    distinct = list(dict.fromkeys(problems))
    return distinct[0] if len(distinct) == 1 else f"[{', '.join(distinct)}]"


def _binding_of(kind: str, namespace: str, name: str, obj: JsonObject) -> _Binding:
    ref = role_ref(obj)
    full_name = f"{name}/{namespace}" if namespace else name
    return _Binding(
        ref,
        tuple(_subject_of(subject, namespace) for subject in obj.get("subjects") or ()),
        f"{kind} {quoted(full_name)} of {ref.kind} {quoted(ref.name)}",
    )


def _subject_of(subject: JsonObject, namespace: str) -> tuple[str, str]:
    kind, name = subject.get("kind", ""), subject.get("name", "")
    match kind:
        case "User":
            return f"u:{name}", f"User {quoted(name)}"
        case "Group":
            return f"g:{name}", f"Group {quoted(name)}"
        case "ServiceAccount":
            # Without a namespace, the binding's is meant; in a ClusterRoleBinding such a subject matches nobody.
            namespace = subject.get("namespace") or namespace
            key = f"u:{service_account_name(namespace, name)}" if namespace else ""
            return key, f"ServiceAccount {quoted(f'{name}/{namespace}')}"
        case _:
            return "", f"{kind} {quoted(name)}"

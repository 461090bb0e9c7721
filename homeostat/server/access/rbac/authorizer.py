"""The RBAC authorizer: roles and bindings, indexed by subject.

`put` and `remove` keep `Rbac` equal to the stored roles and bindings; `decide` decides on a call. The result is that of
a scan over all bindings, without the scan: bindings are found by user and group, and a decision is cached until the
next change. An aggregated ClusterRole has the rules of the roles that it selects, whatever rules are written in it.

Whoever may write roles in one namespace can bind hundreds of thousands of rules to somebody. Comparing with so many
takes long (`takes_long`), so it is done in a thread, on the rules of one moment. Expressions of admission policies
decide in threads, too. A lock is held only to find the rules and to keep a decision, which is not kept if a role or
binding has changed meanwhile.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain
from threading import RLock
from typing import NamedTuple

import msgspec

from homeostat.objects.access.rule import Rule, allows_any_name, rule_of, size_of
from homeostat.objects.errors import quoted
from homeostat.objects.json import JsonObject
from homeostat.server.access.attributes import Attributes, Decision
from homeostat.server.access.rbac.aggregation import Aggregation, Gathering
from homeostat.server.access.user import User, service_account_name

GROUP = "rbac.authorization.k8s.io"
_MAX_VERDICTS = 10_000
MOST_KEPT_CHARACTERS = 8 * 1024 * 1024
"""Of what decisions that are kept depend on: a call may have a path or, in a review, a verb of 100,000 characters."""
_NAME_CHARACTERS = 100
"""What one of the names of objects in a decision counts as."""
QUICK_SIZE = 20_000
"""Values of rules, and bindings, with which a call is compared in some milliseconds."""


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


class _Bound(NamedTuple):
    """The rules that a binding grants to a user, by its subject; None if the role does not exist."""

    binding: _Binding
    subject: int
    rules: tuple[Rule, ...] | Gathering | None


class Rbac:
    def __init__(self) -> None:
        self._roles: dict[tuple[str, str], tuple[Rule, ...]] = {}
        self._sizes: dict[tuple[str, str], int] = {}
        self._aggregation = Aggregation()
        self._bindings: dict[tuple[str, str], _Binding] = {}
        self._by_subject: dict[str, dict[str, dict[str, int]]] = {}
        self._verdicts: dict[tuple[object, ...], _Verdict] = {}
        self._kept_characters = 0
        self._version = self._size = 0
        self._lock = RLock()

    def put(self, kind: str, namespace: str, name: str, obj: JsonObject) -> None:
        """Add or replace a Role, ClusterRole, RoleBinding or ClusterRoleBinding; any other kind is a KeyError."""
        with self._lock:
            self._remove(kind, namespace, name)
            match kind:
                case "Role":
                    self._roles[namespace, name] = rules = tuple(rule_of(rule) for rule in obj.get("rules") or ())
                    self._sizes[namespace, name] = size = size_of(rules)
                    self._size += size
                case "ClusterRole":
                    self._aggregation.put(name, obj)
                case _:
                    self._bind(namespace, name, _binding_of(kind, namespace, name, obj))
            self._forget()

    def remove(self, kind: str, namespace: str, name: str) -> None:
        with self._lock:
            self._remove(kind, namespace, name)
            self._forget()

    def _forget(self) -> None:
        self._drop_verdicts()
        self._version += 1

    def _drop_verdicts(self) -> None:
        self._verdicts.clear()
        self._kept_characters = 0

    def _keep(self, key: tuple[object, ...], verdict: _Verdict, attributes: Attributes) -> None:
        size = _characters_of(attributes) + _NAME_CHARACTERS * len(verdict.by_name)
        if len(self._verdicts) >= _MAX_VERDICTS or self._kept_characters + size > MOST_KEPT_CHARACTERS:
            self._drop_verdicts()
        self._verdicts[key] = verdict
        self._kept_characters += size

    def _remove(self, kind: str, namespace: str, name: str) -> None:
        match kind:
            case "Role":
                self._roles.pop((namespace, name), None)
                self._size -= self._sizes.pop((namespace, name), 0)
            case "ClusterRole":
                self._aggregation.remove(name)
            case "RoleBinding" | "ClusterRoleBinding":
                self._unbind(namespace, name)
            case _:
                raise KeyError(kind)

    def decide(self, attributes: Attributes) -> Decision:
        key = _key(attributes)
        verdict = self._verdicts.get(key)
        if verdict is None:
            with self._lock:
                version, bound = self._version, self._bound_to(attributes.user, attributes.namespace)
            verdict = _judged(attributes, self._gathered(bound))
            with self._lock:
                if version == self._version:
                    self._keep(key, verdict, attributes)
        if verdict.by_name and (found := verdict.by_name.get(attributes.name)):
            return _allowed(*found)
        return verdict.otherwise

    @property
    def has_many(self) -> bool:
        """Whether anybody may have so many rules that a decision takes long."""
        return self._size + self._aggregation.size + len(self._bindings) > QUICK_SIZE

    def takes_long(self, attributes: Attributes) -> bool:
        """Whether `decide` would hold up whoever waits for it."""
        if not self.has_many:
            return False
        return _key(attributes) not in self._verdicts and self.is_large(attributes.user, attributes.namespace)

    def is_large(self, user: User, namespace: str) -> bool:
        """Whether the user has more rules than can be looked through quickly."""
        size = 0
        for subject in _subjects_of(user):
            for scope in _scopes_of(namespace):
                for name in self._by_subject.get(subject, {}).get(scope, _NOTHING):
                    size += 1 + self._size_of(self._bindings[scope, name].ref, scope)
                    if size > QUICK_SIZE:
                        return True
        return False

    def is_large_role(self, ref: RoleRef, namespace: str) -> bool:
        return self._size_of(ref, namespace) > QUICK_SIZE

    def _size_of(self, ref: RoleRef, namespace: str) -> int:
        if ref.kind == "ClusterRole":
            return self._aggregation.size_of(ref.name)
        return self._sizes.get((namespace, ref.name), 0)

    def grants(self, user: User, namespace: str) -> tuple[list[Grant], list[str]]:
        """The rules of a user in a namespace ("": none) and cluster-wide, and what could not be resolved."""
        grants: list[Grant] = []
        problems: list[str] = []
        for binding, subject, rules in self._all_of(user, namespace):
            if rules is None:
                problems.append(not_found(binding.ref))
            else:
                source = binding.source(subject)
                grants += [Grant(rule, source) for rule in rules]
        return grants, problems

    def rules_for(self, user: User, namespace: str) -> Iterator[Rule]:
        """The rules of a user in a namespace and cluster-wide, those of a role once however often it is bound."""
        found = {id(rules): rules for _, _, rules in self._all_of(user, namespace) if rules is not None}
        return chain.from_iterable(found.values())

    def rules_of(self, ref: RoleRef, namespace: str) -> tuple[Rule, ...] | None:
        """The rules that a binding in `namespace` grants; None if the role does not exist."""
        with self._lock:
            found = self._rules_of(ref, namespace)
        return self._rules_in(found)

    def _all_of(self, user: User, namespace: str) -> list[tuple[_Binding, int, tuple[Rule, ...] | None]]:
        with self._lock:
            bound = self._bound_to(user, namespace)
        return list(self._gathered(bound))

    def _bound_to(self, user: User, namespace: str) -> list[_Bound]:
        return [
            _Bound(binding, subject, self._rules_of(binding.ref, scope))
            for scope, binding, subject in self._bindings_of(user, namespace)
        ]

    def _gathered(self, bound: list[_Bound]) -> Iterator[tuple[_Binding, int, tuple[Rule, ...] | None]]:
        """Without the lock, as far as rules have to be computed."""
        for binding, subject, rules in bound:
            yield binding, subject, self._rules_in(rules)

    def _rules_in(self, found: tuple[Rule, ...] | Gathering | None) -> tuple[Rule, ...] | None:
        if not isinstance(found, Gathering):
            return found
        rules = found.rules()
        with self._lock:
            self._aggregation.keep(found, rules)
        return rules

    def _rules_of(self, ref: RoleRef, namespace: str) -> tuple[Rule, ...] | Gathering | None:
        if ref.kind == "ClusterRole":
            return self._aggregation.rules_of(ref.name)
        return self._roles.get((namespace, ref.name)) if ref.kind == "Role" else None

    def _bindings_of(self, user: User, namespace: str) -> Iterator[tuple[str, _Binding, int]]:
        """Each binding of the user once, with the first subject that matches: ClusterRoleBindings first, by name."""
        subjects = _subjects_of(user)
        for scope in _scopes_of(namespace):
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


def _key(attributes: Attributes) -> tuple[object, ...]:
    user = attributes.user
    return (
        user.name,
        user.groups,
        attributes.verb,
        attributes.group,
        attributes.resource,
        attributes.subresource,
        attributes.namespace,
        attributes.path,
    )


def _characters_of(attributes: Attributes) -> int:
    user, asked = attributes.user, attributes
    texts = (asked.verb, asked.group, asked.resource, asked.subresource, asked.namespace, asked.path)
    return len(user.name) + sum(map(len, user.groups)) + sum(map(len, texts))


def _subjects_of(user: User) -> list[str]:
    return [f"u:{user.name}", *[f"g:{group}" for group in user.groups]]


def _scopes_of(namespace: str) -> tuple[str, ...]:
    return ("", namespace) if namespace else ("",)


def _judged(attributes: Attributes, bound: Iterable[tuple[_Binding, int, tuple[Rule, ...] | None]]) -> _Verdict:
    by_name: dict[str, tuple[_Binding, int]] = {}
    problems: list[str] = []
    seen: dict[int, tuple[Rule, ...]] = {}
    for binding, subject, rules in bound:
        if rules is None:
            problems.append(not_found(binding.ref))
            continue
        if id(rules) in seen:
            continue  # Another binding grants the same role.
        seen[id(rules)] = rules
        for rule in rules:
            if not allows_any_name(rule, attributes):
                continue
            if not rule.names or attributes.path:
                return _Verdict(by_name, _allowed(binding, subject))
            for name in rule.names:
                by_name.setdefault(name, (binding, subject))
    return _Verdict(by_name, Decision(False, f"RBAC: {join_problems(problems)}" if problems else ""))


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

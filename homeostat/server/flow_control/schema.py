"""A FlowSchema, parsed: which requests it matches, and which priority level they get. Pure."""

from __future__ import annotations

import msgspec

from homeostat.objects.flow_control import level_of
from homeostat.objects.json import JsonObject
from homeostat.server.access.attributes import Attributes
from homeostat.server.access.user import User, split_service_account
from homeostat.server.kinds.builtins.members import integer, strings, struct, structs, text

_ALL = "*"
_Names = frozenset[str] | None
"""The names that a rule lists; None for all."""


class _ResourceRule(msgspec.Struct, frozen=True, gc=False):
    verbs: _Names
    groups: _Names
    resources: _Names
    namespaces: _Names
    is_cluster_wide: bool

    def matches(self, request: Attributes) -> bool:
        if self.verbs is not None and request.verb not in self.verbs:
            return False
        if self.resources is not None:
            subresource = f"/{request.subresource}" if request.subresource else ""
            if request.resource + subresource not in self.resources:
                return False
        if self.groups is not None and request.group not in self.groups:
            return False
        if not request.namespace:
            return self.is_cluster_wide
        return self.namespaces is None or request.namespace in self.namespaces


class _PathRule(msgspec.Struct, frozen=True, gc=False):
    verbs: _Names
    paths: frozenset[str]
    prefixes: tuple[str, ...]

    def matches(self, request: Attributes) -> bool:
        if self.verbs is not None and request.verb not in self.verbs:
            return False
        return request.path in self.paths or request.path.startswith(self.prefixes)


class _Subjects(msgspec.Struct, frozen=True, gc=False):
    """A rule may have hundreds, and each request is compared with many rules."""

    is_everybody: bool
    users: frozenset[str]
    groups: frozenset[str]
    accounts: frozenset[tuple[str, str]]
    """By namespace and name."""

    def include(self, user: User) -> bool:
        if self.is_everybody or user.name in self.users or not self.groups.isdisjoint(user.groups):
            return True
        found = split_service_account(user.name) if self.accounts else None
        return found is not None and ((found[0], found[1]) in self.accounts or (found[0], _ALL) in self.accounts)


class _Rule(msgspec.Struct, frozen=True):
    subjects: _Subjects
    resources: tuple[_ResourceRule, ...]
    paths: tuple[_PathRule, ...]

    def matches(self, request: Attributes) -> bool:
        if not self.subjects.include(request.user):
            return False
        rules: tuple[_PathRule | _ResourceRule, ...] = self.paths if request.path else self.resources
        return any(each.matches(request) for each in rules)


class Schema(msgspec.Struct, frozen=True):
    name: str
    uid: str
    precedence: int
    level: str
    distinguisher: str
    """`ByUser`, `ByNamespace`, or empty: all requests are one flow."""
    rules: tuple[_Rule, ...]

    def matches(self, request: Attributes) -> bool:
        return any(each.matches(request) for each in self.rules)

    def distinguish(self, request: Attributes) -> str:
        """What tells the flows of this schema apart."""
        match self.distinguisher:
            case "ByUser":
                return request.user.name
            case "ByNamespace":
                return request.namespace
        return ""


def schema_of(obj: JsonObject) -> Schema:
    metadata, spec = struct(obj, "metadata"), struct(obj, "spec")
    return Schema(
        name=text(metadata, "name"),
        uid=text(metadata, "uid"),
        precedence=integer(spec, "matchingPrecedence"),
        level=level_of(obj),
        distinguisher=text(struct(spec, "distinguisherMethod"), "type"),
        rules=tuple(_rule_of(each) for each in structs(spec, "rules")),
    )


def _rule_of(rule: JsonObject) -> _Rule:
    return _Rule(
        _subjects_of(rule),
        tuple(
            _ResourceRule(
                _names(each, "verbs"),
                _names(each, "apiGroups"),
                _names(each, "resources"),
                _names(each, "namespaces"),
                each.get("clusterScope") is True,
            )
            for each in structs(rule, "resourceRules")
        ),
        tuple(
            _PathRule(_names(each, "verbs"), frozenset(paths), tuple(map(_prefix, paths)))
            for each in structs(rule, "nonResourceRules")
            for paths in [strings(each, "nonResourceURLs")]
        ),
    )


def _names(rule: JsonObject, field: str) -> _Names:
    found = strings(rule, field)
    return None if _ALL in found else frozenset(found)


def _prefix(path: str) -> str:
    """As in Kubernetes, `/healthz` stands for what is below it, too."""
    if path == _ALL:
        return ""
    prefix = path.removesuffix("*")
    return prefix if prefix.endswith("/") else f"{prefix}/"


def _subjects_of(rule: JsonObject) -> _Subjects:
    users, groups, accounts = set[str](), set[str](), set[tuple[str, str]]()
    for subject in structs(rule, "subjects"):
        match subject.get("kind"):
            case "User":
                users.add(text(struct(subject, "user"), "name"))
            case "Group":
                groups.add(text(struct(subject, "group"), "name"))
            case _:
                account = struct(subject, "serviceAccount")
                accounts.add((text(account, "namespace"), text(account, "name")))
    return _Subjects(_ALL in users or _ALL in groups, frozenset(users), frozenset(groups), frozenset(accounts))

"""A FlowSchema, parsed: which requests it matches, and which priority level they get. Pure."""

from __future__ import annotations

from collections.abc import Callable

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


class _Rule(msgspec.Struct, frozen=True):
    subjects: tuple[Callable[[User], bool], ...]
    resources: tuple[_ResourceRule, ...]
    paths: tuple[_PathRule, ...]

    def matches(self, request: Attributes) -> bool:
        if not any(matches(request.user) for matches in self.subjects):
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
        tuple(_subject_of(each) for each in structs(rule, "subjects")),
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


def _subject_of(subject: JsonObject) -> Callable[[User], bool]:
    match subject.get("kind"):
        case "User":
            name = text(struct(subject, "user"), "name")
            return lambda user: name in {_ALL, user.name}
        case "Group":
            group = text(struct(subject, "group"), "name")
            return lambda user: group == _ALL or group in user.groups
    account = struct(subject, "serviceAccount")
    namespace, name = text(account, "namespace"), text(account, "name")

    def matches(user: User) -> bool:
        found = split_service_account(user.name)
        return found is not None and found[0] == namespace and name in {_ALL, found[1]}

    return matches

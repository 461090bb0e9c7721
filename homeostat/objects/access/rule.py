"""A rule of a role: verbs on resources, or on URLs. Pure.

Rules only allow. `allows` decides whether one rule allows one call. Wildcards are those of Kubernetes: `*` is any verb,
group or resource, `*/scale` a subresource of any resource, a trailing `*` any rest of a URL. `pods/*` is not a wildcard
and matches only itself.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

import msgspec

from homeostat.objects.errors import quoted
from homeostat.objects.json import JsonObject


class Attributes(Protocol):
    """Of a call: `path` is set for URLs that are no objects (`/metrics`), the others but `verb` for objects."""

    @property
    def verb(self) -> str: ...
    @property
    def group(self) -> str: ...
    @property
    def resource(self) -> str: ...
    @property
    def subresource(self) -> str: ...
    @property
    def name(self) -> str: ...
    @property
    def path(self) -> str: ...


class Rule(msgspec.Struct, frozen=True):
    verbs: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    resources: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    urls: tuple[str, ...] = ()


FULL_AUTHORITY = (Rule(("*",), groups=("*",), resources=("*",)), Rule(("*",), urls=("*",)))


def rule_of(obj: JsonObject) -> Rule:
    return Rule(
        tuple(obj.get("verbs") or ()),
        tuple(obj.get("apiGroups") or ()),
        tuple(obj.get("resources") or ()),
        tuple(obj.get("resourceNames") or ()),
        tuple(obj.get("nonResourceURLs") or ()),
    )


def size_of(rules: Iterable[Rule]) -> int:
    """How many values the rules have: about how long it takes to compare something with them."""
    return sum(
        len(each.verbs) + len(each.groups) + len(each.resources) + len(each.names) + len(each.urls) for each in rules
    )


def rule_object(rule: Rule) -> JsonObject:
    fields = _fields(rule)
    return {name: list(values) for name, values in fields if values}


def allows(rule: Rule, attributes: Attributes) -> bool:
    return allows_any_name(rule, attributes) and (
        bool(attributes.path) or not rule.names or attributes.name in rule.names
    )


def allows_any_name(rule: Rule, attributes: Attributes) -> bool:
    """Whether the rule allows the call if its `names` are ignored."""
    if not _has(rule.verbs, attributes.verb):
        return False
    if attributes.path:
        return any(url_covers(url, attributes.path) for url in rule.urls)
    return _has(rule.groups, attributes.group) and _has_resource(
        rule.resources, attributes.resource, attributes.subresource
    )


def describe(rule: Rule) -> str:
    """A rule as Kubernetes formats it in its error messages."""
    titles = {"apiGroups": "APIGroups", "nonResourceURLs": "NonResourceURLs"}
    fields = sorted(_fields(rule), key=lambda field: field[0] == "verbs")
    parts = [
        f"{titles.get(name, name[0].upper() + name[1:])}:{quoted_list(values)}" for name, values in fields if values
    ]
    return "{" + ", ".join(parts) + "}"


def quoted_list(values: Iterable[str]) -> str:
    """A list of texts as Go prints it."""
    return f"[{' '.join(quoted(value) for value in values)}]"


def _fields(rule: Rule) -> tuple[tuple[str, tuple[str, ...]], ...]:
    return (
        ("verbs", rule.verbs),
        ("apiGroups", rule.groups),
        ("resources", rule.resources),
        ("nonResourceURLs", rule.urls),
        ("resourceNames", rule.names),
    )


def _has(values: tuple[str, ...], value: str) -> bool:
    return value in values or "*" in values


def _has_resource(resources: tuple[str, ...], resource: str, subresource: str) -> bool:
    if not subresource:
        return _has(resources, resource)
    return _has(resources, f"{resource}/{subresource}") or f"*/{subresource}" in resources


def url_covers(pattern: str, url: str) -> bool:
    return pattern == url or (pattern.endswith("*") and url.startswith(pattern.rstrip("*")))

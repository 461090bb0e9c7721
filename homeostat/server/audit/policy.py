"""Audit policies: which requests are logged, and how much of them. Pure.

A policy is the `Policy` of audit.k8s.io/v1. The first rule that matches a request decides; a request that no rule
matches is not logged. One thing is stricter than in Kubernetes: the objects of requests that carry secrets are logged
only if the rule names their resource.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import msgspec

from homeostat.objects import yaml
from homeostat.objects.errors import BadRequestError
from homeostat.server.access.attributes import Attributes

Level = Literal["None", "Metadata", "Request", "RequestResponse"]
Stage = Literal["RequestReceived", "ResponseStarted", "ResponseComplete", "Panic"]

_SECRET = frozenset(
    {("", "secrets"), ("", "serviceaccounts/token"), ("authentication.k8s.io", "tokenreviews")},
)
MAX_POLICY_BYTES = 1024 * 1024


class AuditPolicyError(ValueError):
    """The policy is invalid; the message says where."""


class Decision(msgspec.Struct, frozen=True):
    """How much of a request is logged."""

    level: Level
    omit_stages: frozenset[str] = frozenset()
    omit_managed_fields: bool = False
    hides_messages: bool = False
    """Error messages may contain parts of a secret."""


NOT_LOGGED = Decision("None")


class _Resources(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    group: str = ""
    resources: tuple[str, ...] = ()
    resource_names: tuple[str, ...] = ()

    def covers(self, wanted: Attributes) -> bool:
        if self.group != wanted.group:
            return False
        if not self.resources:
            return True
        if self.resource_names and wanted.name not in self.resource_names:
            return False
        return any(_covers(each, wanted.resource, wanted.subresource) for each in self.resources)


def _covers(pattern: str, resource: str, subresource: str) -> bool:
    if pattern in {"*", _combined(resource, subresource)}:
        return True
    if pattern.startswith("*/"):
        return subresource == pattern[2:]
    return pattern.endswith("/*") and resource == pattern[:-2]


def _combined(resource: str, subresource: str) -> str:
    return f"{resource}/{subresource}" if subresource else resource


class Rule(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    level: Level
    users: tuple[str, ...] = ()
    user_groups: tuple[str, ...] = ()
    verbs: tuple[str, ...] = ()
    resources: tuple[_Resources, ...] = ()
    namespaces: tuple[str, ...] = ()
    non_resource_urls: tuple[str, ...] = msgspec.field(default=(), name="nonResourceURLs")
    omit_stages: tuple[Stage, ...] = ()
    omit_managed_fields: bool | None = None

    def matches(self, wanted: Attributes) -> bool:
        user = wanted.user
        if self.users and user.name not in self.users:
            return False
        if self.user_groups and not any(group in self.user_groups for group in user.groups):
            return False
        if self.verbs and wanted.verb not in self.verbs and "*" not in self.verbs:
            return False
        if self.namespaces or self.resources:
            return self._matches_resource(wanted)
        if self.non_resource_urls:
            return bool(wanted.path) and any(_is_url(each, wanted.path) for each in self.non_resource_urls)
        return True

    def _matches_resource(self, wanted: Attributes) -> bool:
        if not wanted.resource or (self.namespaces and wanted.namespace not in self.namespaces):
            return False
        return not self.resources or any(each.covers(wanted) for each in self.resources)

    def names(self, group: str, resource: str) -> bool:
        return any(each.group == group and resource in each.resources for each in self.resources)


def _is_url(pattern: str, path: str) -> bool:
    return pattern in {"*", path} or (pattern.endswith("*") and path.startswith(pattern[:-1]))


class Policy(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    rules: tuple[Rule, ...]
    api_version: Literal["audit.k8s.io/v1"] = "audit.k8s.io/v1"
    kind: Literal["Policy"] = "Policy"
    metadata: dict[str, object] = {}
    omit_stages: tuple[Stage, ...] = ()
    omit_managed_fields: bool = False

    def decide(self, wanted: Attributes) -> Decision:
        for rule in self.rules:
            if rule.matches(wanted):
                return self._decision(rule, wanted)
        return NOT_LOGGED

    def _decision(self, rule: Rule, wanted: Attributes) -> Decision:
        if rule.level == "None":
            return NOT_LOGGED
        resource = _combined(wanted.resource, wanted.subresource)
        is_secret = (wanted.group, resource) in _SECRET
        level = "Metadata" if is_secret and not rule.names(wanted.group, resource) else rule.level
        omits = rule.omit_managed_fields
        return Decision(
            level,
            frozenset({*self.omit_stages, *rule.omit_stages}),
            self.omit_managed_fields if omits is None else omits,
            hides_messages=is_secret and level == "Metadata",
        )


DEFAULT = Policy(
    (
        Rule("None", non_resource_urls=("/livez*", "/readyz*", "/healthz*", "/version*", "/openapi/*", "/api*")),
        Rule("None", users=("system:apiserver",), verbs=("get", "list", "watch")),
        Rule("Metadata"),
    )
)
"""Without a policy of its own, a plane logs who did what, but not its own reads, discovery and health checks."""


def parse_policy(text: bytes) -> Policy:
    if len(text) > MAX_POLICY_BYTES:
        raise AuditPolicyError(f"an audit policy has at most {MAX_POLICY_BYTES} bytes, not {len(text)}")
    try:
        policy = msgspec.convert(yaml.load(text), Policy)
    except BadRequestError as error:
        raise AuditPolicyError(error.message) from error
    except msgspec.ValidationError as error:
        raise AuditPolicyError(str(error)) from error
    _check(policy.rules)
    return policy


def _check(rules: Sequence[Rule]) -> None:
    if not rules:
        raise AuditPolicyError("rules: a policy without rules logs nothing; add one, such as level: Metadata")
    for at, rule in enumerate(rules):
        if rule.non_resource_urls and (rule.resources or rule.namespaces):
            raise AuditPolicyError(f"rules[{at}]: a rule is about resources or about nonResourceURLs, not about both")

"""What the visitor is allowed to do, by SelfSubjectAccessReviews; the answers are kept for some seconds.

Only buttons depend on this: the server checks each request itself, with the credentials of the visitor.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple
from weakref import WeakKeyDictionary

import msgspec

from homeostat.client.base import Client, UnreachableError
from homeostat.objects.errors import ApiError
from homeostat.objects.json import Json
from homeostat.objects.kind import POD, Kind

_REVIEWS: Final = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
_RULES_REVIEWS: Final = "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews"
_REVIEWED: Final = frozenset({"authorization.k8s.io", "authentication.k8s.io"})
_KEPT_S: Final = 10.0
_SERVED_KEPT_S: Final = 60.0
_MOST_KEPT: Final = 512


class _Question(NamedTuple):
    verb: str
    group: str
    resource: str
    namespace: str
    name: str
    subresource: str = ""


class _Served(msgspec.Struct, frozen=True):
    name: str = ""


class _ServedList(msgspec.Struct, frozen=True):
    resources: tuple[_Served, ...] = ()


_served_list = msgspec.json.Decoder(_ServedList)
_log_servers: WeakKeyDictionary[Client, tuple[float, bool]] = WeakKeyDictionary()
_rules: WeakKeyDictionary[Client, dict[str, tuple[float, bool]]] = WeakKeyDictionary()
_answers: WeakKeyDictionary[Client, dict[_Question, tuple[float, bool]]] = WeakKeyDictionary()


async def may(
    client: Client, verb: str, kind: Kind, namespace: str = "", name: str = "", subresource: str = ""
) -> bool:
    """Whether the user of this client is allowed to; no if the server does not answer that."""
    question = _Question(verb, kind.group, kind.plural, namespace if kind.is_namespaced else "", name, subresource)
    known = _answers.setdefault(client, {})
    until, allowed = known.get(question, (0.0, False))
    now = time.monotonic()
    if until > now:
        return allowed
    attributes = {field: value for field, value in question._asdict().items() if value}
    review = {"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview"}
    try:
        answer = await client.create(_REVIEWS, {**review, "spec": {"resourceAttributes": attributes}})
    except ApiError:
        return False
    allowed = bool(answer["status"].get("allowed"))
    if len(known) >= _MOST_KEPT:
        known.clear()
    known[question] = (now + _KEPT_S, allowed)
    return allowed


async def may_list(client: Client, kind: Kind, namespace: str = "") -> bool:
    return await may(client, "list", kind, namespace)


async def may_create_any(client: Client, namespace: str) -> bool:
    """Whether the user of this client is allowed to create any object in the namespace, by its rules there; yes if the
    server cannot tell. Everybody may create reviews of their own access, which are no objects.
    """
    known = _rules.setdefault(client, {})
    until, allowed = known.get(namespace, (0.0, False))
    now = time.monotonic()
    if until > now:
        return allowed
    review = {"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectRulesReview"}
    try:
        status = (await client.create(_RULES_REVIEWS, {**review, "spec": {"namespace": namespace or "default"}}))[
            "status"
        ]
    except ApiError:
        return True
    allowed = bool(status.get("incomplete")) or any(map(_creates, status.get("resourceRules") or ()))
    if len(known) >= _MOST_KEPT:
        known.clear()
    known[namespace] = (now + _KEPT_S, allowed)
    return allowed


def _creates(rule: Mapping[str, Json]) -> bool:
    verbs, groups = rule.get("verbs") or (), rule.get("apiGroups") or ()
    assert isinstance(verbs, Sequence)
    assert isinstance(groups, Sequence)
    return ("create" in verbs or "*" in verbs) and not set(groups) <= _REVIEWED


def is_pod(kind: Kind) -> bool:
    return (kind.group, kind.plural) == (POD.group, POD.plural)


async def may_read_logs(client: Client, kind: Kind, namespace: str, name: str) -> bool:
    """Whether the server has logs of Pods, and the user of this client is allowed to read those of this one."""
    return is_pod(kind) and await serves_logs(client) and await may(client, "get", kind, namespace, name, "log")


async def serves_logs(client: Client) -> bool:
    """A control plane that simulates Pods has none."""
    until, known = _log_servers.get(client, (0.0, False))
    if until > time.monotonic():
        return known
    try:
        listed = _served_list.decode(await client.fetch("GET", "/api/v1"))
    except (ApiError, UnreachableError, msgspec.DecodeError):
        return False
    found = any(each.name == "pods/log" for each in listed.resources)
    _log_servers[client] = (time.monotonic() + _SERVED_KEPT_S, found)
    return found

"""What the visitor is allowed to do, by SelfSubjectAccessReviews; the answers are kept for some seconds.

Only buttons depend on this: the server checks each request itself, with the credentials of the visitor.
"""

from __future__ import annotations

import time
from typing import Final, NamedTuple
from weakref import WeakKeyDictionary

from homeostat.client.base import Client
from homeostat.objects.errors import ApiError
from homeostat.objects.kind import Kind

_REVIEWS: Final = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
_KEPT_S: Final = 10.0
_MOST_KEPT: Final = 512


class _Question(NamedTuple):
    verb: str
    group: str
    resource: str
    namespace: str
    name: str


_answers: WeakKeyDictionary[Client, dict[_Question, tuple[float, bool]]] = WeakKeyDictionary()


async def may(client: Client, verb: str, kind: Kind, namespace: str = "", name: str = "") -> bool:
    """Whether the user of this client is allowed to; no if the server does not answer that."""
    question = _Question(verb, kind.group, kind.plural, namespace if kind.is_namespaced else "", name)
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

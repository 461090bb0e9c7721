"""Aggregated ClusterRoles: writes the rules that an `aggregationRule` selects to `rules`."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

import msgspec

from homeostat.client.base import Client
from homeostat.edge.turn import Turn
from homeostat.objects.errors import BadRequestError, NotFoundError
from homeostat.objects.json import Json, JsonObject
from homeostat.objects.selectors import NOTHING, LabelSelector, selector_of
from homeostat.operators.housekeeping.metadata.feed import Feed
from homeostat.operators.housekeeping.metadata.kinds import CLUSTER_ROLE_KEY
from homeostat.operators.housekeeping.metadata.sweep import Sweep

_COLLECTION = "/apis/rbac.authorization.k8s.io/v1/clusterroles"
_SOON_S = 0.05
_encode = msgspec.json.Encoder(order="sorted").encode


def gathered_rules(role: JsonObject, roles: Iterable[JsonObject]) -> list[Json] | None:
    """The rules of all plain roles that an aggregated role selects, directly or through other aggregated roles, each
    once; None for a plain role. The `rules` of an aggregated role are never used, because roles may form a cycle.
    """
    waiting = deque(_selectors(role))
    if not waiting:
        return None
    unseen = {str(each["metadata"]["name"]): each for each in roles}
    found: dict[bytes, Json] = {}
    while waiting:
        matches = _selector(waiting.popleft()).matches
        for name in sorted(name for name, each in unseen.items() if matches(each["metadata"].get("labels") or {})):
            other = unseen.pop(name)
            further = _selectors(other)
            waiting.extend(further)
            for rule in () if further else other.get("rules") or ():
                found.setdefault(_encode(rule), rule)
    return list(found.values())


def _selectors(role: JsonObject) -> list[Json]:
    aggregation = role.get("aggregationRule")
    return list(aggregation.get("clusterRoleSelectors") or ()) if isinstance(aggregation, dict) else []


def _selector(value: Json) -> LabelSelector:
    """An invalid one selects nothing."""
    try:
        return selector_of(value)
    except BadRequestError:
        return NOTHING


class Roles:
    def __init__(self, client: Client, feed: Feed) -> None:
        self._client = client
        self._sweep = Sweep(feed, CLUSTER_ROLE_KEY, work=self._aggregate, name="role aggregation", after_s=_SOON_S)

    async def run(self) -> None:
        await self._sweep.run()

    async def _aggregate(self) -> None:
        roles, _revision = await self._client.list(_COLLECTION)
        turn = Turn()
        for role in roles:
            rules = gathered_rules(role, roles)
            if rules is not None and rules != (role.get("rules") or []):
                await self._write(role, rules)
            await turn.pause()

    async def _write(self, role: JsonObject, rules: list[Json]) -> None:
        metadata = role["metadata"]
        patch = {"metadata": {"resourceVersion": metadata["resourceVersion"]}, "rules": rules}
        try:
            await self._client.merge(f"{_COLLECTION}/{metadata['name']}", patch)
        except NotFoundError:
            return

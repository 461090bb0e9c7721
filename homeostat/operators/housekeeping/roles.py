"""Aggregated ClusterRoles: writes the rules that an `aggregationRule` selects to `rules`."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping

from homeostat.client.base import Client
from homeostat.objects.errors import NotFoundError
from homeostat.objects.json import Json, JsonObject
from homeostat.objects.selectors import selects
from homeostat.operators.housekeeping.metadata.events import Changed, FeedEvent, Gone, Listed
from homeostat.operators.housekeeping.metadata.feed import BACKOFF, Feed
from homeostat.operators.housekeeping.metadata.kinds import CLUSTER_ROLE_KEY
from homeostat.runtime.control.queue import WorkQueue
from homeostat.runtime.control.workers import Workers

_COLLECTION = "/apis/rbac.authorization.k8s.io/v1/clusterroles"
_ALL = "all"
_SOON_S = 0.05


def gathered_rules(role: JsonObject, roles: Iterable[JsonObject]) -> list[Json] | None:
    """The rules of all plain roles that an aggregated role selects, directly or through other aggregated roles, each
    once; None for a plain role. The `rules` of an aggregated role are never used, because roles may form a cycle.
    """
    waiting = deque(_selectors(role))
    if not waiting:
        return None
    unseen = {str(each["metadata"]["name"]): each for each in roles}
    rules: list[Json] = []
    while waiting:
        selector = waiting.popleft()
        for name in sorted(unseen):
            if not selects(selector, unseen[name]["metadata"].get("labels") or {}):
                continue
            other = unseen.pop(name)
            further = _selectors(other)
            waiting.extend(further)
            if not further:
                rules += [rule for rule in other.get("rules") or () if rule not in rules]
    return rules


def _selectors(role: JsonObject) -> list[Json]:
    aggregation = role.get("aggregationRule")
    return list(aggregation.get("clusterRoleSelectors") or ()) if isinstance(aggregation, Mapping) else []


class Roles:
    def __init__(self, client: Client, feed: Feed) -> None:
        self._client = client
        self._queue: WorkQueue[str] = WorkQueue(backoff=BACKOFF)
        self._workers = Workers(self._queue, self._aggregate, name="role aggregation")
        feed.subscribe(self._observe, CLUSTER_ROLE_KEY)

    async def run(self) -> None:
        await self._workers.run()

    def _observe(self, event: FeedEvent) -> None:
        if isinstance(event, Changed | Gone | Listed):
            self._queue.add(_ALL, after_s=_SOON_S)

    async def _aggregate(self, _: str) -> None:
        roles, _revision = await self._client.list(_COLLECTION)
        for role in roles:
            rules = gathered_rules(role, roles)
            if rules is not None and rules != (role.get("rules") or []):
                await self._write(role, rules)

    async def _write(self, role: JsonObject, rules: list[Json]) -> None:
        metadata = role["metadata"]
        patch = {"metadata": {"resourceVersion": metadata["resourceVersion"]}, "rules": rules}
        try:
            await self._client.merge(f"{_COLLECTION}/{metadata['name']}", patch)
        except NotFoundError:
            return

"""Aggregated ClusterRoles: `rules` shows what their `aggregationRule` gathers, for everybody who reads the object."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from homeostat.client.base import Client
from homeostat.objects.errors import BadRequestError, NotFoundError
from homeostat.objects.json import Json, JsonObject
from homeostat.objects.selectors import selector_of
from homeostat.operators.housekeeping.feed import BACKOFF, Feed
from homeostat.operators.housekeeping.kinds import CLUSTER_ROLE_KEY
from homeostat.operators.housekeeping.news import Changed, Gone, Listed, News
from homeostat.runtime.queue import WorkQueue
from homeostat.runtime.workers import Workers

_COLLECTION = "/apis/rbac.authorization.k8s.io/v1/clusterroles"
_ALL = "all"
_SOON_S = 0.05


def gathered_rules(role: JsonObject, roles: Iterable[JsonObject]) -> list[Json] | None:
    """The rules of the roles that an aggregated role selects, in the order of their names; None for any other role."""
    aggregation = role.get("aggregationRule")
    if not isinstance(aggregation, Mapping):
        return None
    rules: list[Json] = []
    for selector in aggregation.get("clusterRoleSelectors") or ():
        for other in sorted(roles, key=lambda each: str(each["metadata"]["name"])):
            if other is not role and _selects(selector, other["metadata"].get("labels") or {}):
                rules += [rule for rule in other.get("rules") or () if rule not in rules]
    return rules


def _selects(selector: Json, labels: dict[str, str]) -> bool:
    try:
        return selector_of(selector).matches(labels)
    except BadRequestError:
        return False


class Roles:
    def __init__(self, client: Client, feed: Feed) -> None:
        self._client = client
        self._queue: WorkQueue[str] = WorkQueue(backoff=BACKOFF)
        self._workers = Workers(self._queue, self._aggregate, name="role aggregation")
        feed.subscribe(self._observe, CLUSTER_ROLE_KEY)

    async def run(self) -> None:
        await self._workers.run()

    def _observe(self, news: News) -> None:
        if isinstance(news, Changed | Gone | Listed):
            self._queue.add(_ALL, after_s=_SOON_S)

    async def _aggregate(self, _: str) -> None:
        """Until nothing changes: an aggregated role may select another."""
        while True:
            roles, _revision = await self._client.list(_COLLECTION)
            wanted = [(role, gathered_rules(role, roles)) for role in roles]
            stale = [
                (role, rules) for role, rules in wanted if rules is not None and rules != (role.get("rules") or [])
            ]
            if not stale:
                return
            for role, rules in stale:
                await self._write(role, rules)

    async def _write(self, role: JsonObject, rules: list[Json]) -> None:
        metadata = role["metadata"]
        patch = {"metadata": {"resourceVersion": metadata["resourceVersion"]}, "rules": rules}
        try:
            await self._client.merge(f"{_COLLECTION}/{metadata['name']}", patch)
        except NotFoundError:
            return

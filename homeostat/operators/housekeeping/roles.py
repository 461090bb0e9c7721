"""Aggregated ClusterRoles: writes the rules that an `aggregationRule` selects to `rules`."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import Any, Final

import msgspec

from homeostat.client.base import Client
from homeostat.client.pages import Page, pages
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


class _Metadata(msgspec.Struct, frozen=True):
    name: str
    labels: dict[str, str] | None = None


class Outline(msgspec.Struct, frozen=True, rename="camel"):
    """A ClusterRole without its rules, of which it may have megabytes."""

    metadata: _Metadata
    aggregation_rule: Any = None


_outlines: Final = msgspec.json.Decoder(Page[Outline])


def gathered_roles(role: Outline, roles: Iterable[Outline]) -> list[str] | None:
    """The plain roles that an aggregated role selects, directly or through other aggregated roles; None for a plain
    role. The `rules` of an aggregated role are never used, because roles may form a cycle.
    """
    waiting = deque(_selectors(role))
    if not waiting:
        return None
    unseen = {each.metadata.name: each for each in roles}
    found: list[str] = []
    while waiting:
        matches = _selector(waiting.popleft()).matches
        for name in sorted(name for name, each in unseen.items() if matches(each.metadata.labels or {})):
            further = _selectors(unseen.pop(name))
            waiting.extend(further)
            if not further:
                found.append(name)
    return found


def _selectors(role: Outline) -> list[Json]:
    aggregation = role.aggregation_rule
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
        turn = Turn()
        roles = [each async for page in pages(self._client, _COLLECTION, _outlines) for each in page]
        for role in roles:
            names = gathered_roles(role, roles)
            if names is not None:
                await self._gather(role.metadata.name, names, turn)
            await turn.pause()

    async def _gather(self, name: str, names: Iterable[str], turn: Turn) -> None:
        rules: dict[bytes, Json] = {}
        try:
            for each in names:
                for rule in (await self._client.get(f"{_COLLECTION}/{each}")).get("rules") or ():
                    rules.setdefault(_encode(rule), rule)
                await turn.pause()
            role = await self._client.get(f"{_COLLECTION}/{name}")
        except NotFoundError:
            return  # It was deleted meanwhile; the watch will say so.
        if list(rules.values()) != (role.get("rules") or []):
            await self._write(role, list(rules.values()))

    async def _write(self, role: JsonObject, rules: list[Json]) -> None:
        metadata = role["metadata"]
        patch = {"metadata": {"resourceVersion": metadata["resourceVersion"]}, "rules": rules}
        try:
            await self._client.merge(f"{_COLLECTION}/{metadata['name']}", patch)
        except NotFoundError:
            return

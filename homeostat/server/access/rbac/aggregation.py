"""ClusterRoles, including aggregated ones that collect the rules of other roles by label.

The rules of an aggregated role are computed from the roles that it selects, which may be aggregated too. They are right
at once after any change, and a cycle of roles ends.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import NamedTuple

from homeostat.objects.access.rule import Rule, rule_of
from homeostat.objects.errors import BadRequestError
from homeostat.objects.json import JsonObject
from homeostat.objects.selectors import NOTHING, LabelSelector, selector_of


class _ClusterRole(NamedTuple):
    rules: tuple[Rule, ...]
    labels: dict[str, str]
    selectors: tuple[LabelSelector, ...]


class Aggregation:
    def __init__(self) -> None:
        self._roles: dict[str, _ClusterRole] = {}
        self._gathered: dict[str, tuple[Rule, ...]] = {}

    def put(self, name: str, obj: JsonObject) -> None:
        self._roles[name] = _ClusterRole(
            tuple(rule_of(rule) for rule in obj.get("rules") or ()),
            (obj.get("metadata") or {}).get("labels") or {},
            tuple(_selector(value) for value in selectors_of(obj)),
        )
        self._gathered.clear()

    def remove(self, name: str) -> None:
        self._roles.pop(name, None)
        self._gathered.clear()

    def rules_of(self, name: str) -> tuple[Rule, ...] | None:
        role = self._roles.get(name)
        if role is None or not role.selectors:
            return role.rules if role else None
        found = self._gathered.get(name)
        if found is None:
            found = self._gathered[name] = self._gather(role.selectors)
        return found

    def _gather(self, selectors: Iterable[LabelSelector]) -> tuple[Rule, ...]:
        gathered: dict[Rule, None] = {}
        seen: set[str] = set()
        waiting = deque(selectors)
        while waiting:
            selector = waiting.popleft()
            for name, role in sorted(self._roles.items()):
                if name in seen or not selector.matches(role.labels):
                    continue
                seen.add(name)
                waiting.extend(role.selectors)
                if not role.selectors:
                    gathered |= dict.fromkeys(role.rules)
        return tuple(gathered)


def selectors_of(obj: JsonObject) -> tuple[JsonObject, ...]:
    """The selectors of a ClusterRole's aggregationRule; none for a plain role."""
    return tuple((obj.get("aggregationRule") or {}).get("clusterRoleSelectors") or ())


def _selector(value: JsonObject) -> LabelSelector:
    """An invalid selector selects nothing: one stored role must not keep the others from being read."""
    try:
        return selector_of(value)
    except BadRequestError:
        return NOTHING

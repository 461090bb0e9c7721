"""ClusterRoles, including aggregated ones that collect the rules of other roles by label.

The rules of an aggregated role are computed from the roles that it selects, which may be aggregated too. They are right
at once after any change, and a cycle of roles ends. There may be very many rules, so that computing them is a step of
its own (`Gathering`), which a thread can do without keeping anybody from the roles.
"""

from __future__ import annotations

from collections import deque
from typing import NamedTuple

from homeostat.objects.access.rule import Rule, rule_of, size_of
from homeostat.objects.errors import BadRequestError
from homeostat.objects.json import JsonObject
from homeostat.objects.selectors import NOTHING, LabelSelector, selector_of


class _ClusterRole(NamedTuple):
    rules: tuple[Rule, ...]
    size: int
    labels: dict[str, str]
    selectors: tuple[LabelSelector, ...]


class Gathering:
    """The rules of an aggregated role, to be computed from the roles of one moment."""

    def __init__(self, name: str, version: int, roles: list[tuple[str, _ClusterRole]]) -> None:
        self.name, self.version = name, version
        self._roles = roles

    def rules(self) -> tuple[Rule, ...]:
        gathered: dict[Rule, None] = {}
        seen: set[str] = set()
        roles = sorted(self._roles)
        waiting = deque(dict(roles)[self.name].selectors)
        while waiting:
            selector = waiting.popleft()
            for name, role in roles:
                if name in seen or not selector.matches(role.labels):
                    continue
                seen.add(name)
                waiting.extend(role.selectors)
                if not role.selectors:
                    gathered |= dict.fromkeys(role.rules)
        return tuple(gathered)


class Aggregation:
    def __init__(self) -> None:
        self._roles: dict[str, _ClusterRole] = {}
        self._gathered: dict[str, tuple[Rule, ...]] = {}
        self._version = 0
        self.size = 0
        """The values of all rules."""

    def put(self, name: str, obj: JsonObject) -> None:
        self.remove(name)
        rules = tuple(rule_of(rule) for rule in obj.get("rules") or ())
        labels = (obj.get("metadata") or {}).get("labels") or {}
        selectors = tuple(_selector(value) for value in selectors_of(obj))
        self._roles[name] = role = _ClusterRole(rules, size_of(rules), labels, selectors)
        self.size += role.size

    def remove(self, name: str) -> None:
        role = self._roles.pop(name, None)
        if role is not None:
            self.size -= role.size
        self._gathered.clear()
        self._version += 1

    def rules_of(self, name: str) -> tuple[Rule, ...] | Gathering | None:
        """None for no role. Whoever computes a gathering may `keep` the rules for others."""
        role = self._roles.get(name)
        if role is None or not role.selectors:
            return role.rules if role else None
        found = self._gathered.get(name)
        return Gathering(name, self._version, list(self._roles.items())) if found is None else found

    def size_of(self, name: str) -> int:
        """How many values its rules have; of an aggregated role the most that it may have."""
        role = self._roles.get(name)
        return 0 if role is None else self.size if role.selectors else role.size

    def keep(self, gathering: Gathering, rules: tuple[Rule, ...]) -> None:
        """Unless a role has changed meanwhile."""
        if gathering.version == self._version:
            self._gathered[gathering.name] = rules


def selectors_of(obj: JsonObject) -> tuple[JsonObject, ...]:
    """The selectors of a ClusterRole's aggregationRule; none for a plain role."""
    return tuple((obj.get("aggregationRule") or {}).get("clusterRoleSelectors") or ())


def _selector(value: JsonObject) -> LabelSelector:
    """An invalid selector selects nothing: one stored role must not keep the others from being read."""
    try:
        return selector_of(value)
    except BadRequestError:
        return NOTHING

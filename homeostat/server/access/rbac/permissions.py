"""Computes which permissions a user lacks, for the checks of escalation. Pure.

A rule with a thousand verbs, groups and resources means a thousand million permissions, so they are not checked one by
one: values that the same rules cover form one class, and only missing permissions are enumerated.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, islice, product
from math import prod

import msgspec

from homeostat.objects.access.rule import Rule, url_covers

MOST_LACKING = 10_000
"""Missing permissions that are reported at most."""
_MOST_CLASSES = 1_000_000

_Mask = int
"""A bit for each rule that the user has."""
_Classes = dict[_Mask, list[tuple[int, str]]]
"""Values by the rules that cover them, with their positions, so that the report keeps their order."""


def missing(granted: Sequence[Rule], wanted: Iterable[Rule]) -> list[Rule]:
    """The permissions of `wanted` that no rule of `granted` covers, as one rule for each group and resource."""
    grants = _Grants(granted)
    return _joined(islice(chain.from_iterable(map(grants.lacking, wanted)), MOST_LACKING))


class _Grants:
    def __init__(self, rules: Sequence[Rule]) -> None:
        self._verbs = _index([rule.verbs for rule in rules])
        self._groups = _index([rule.groups for rule in rules])
        self._resources = _index([rule.resources for rule in rules])
        self._names = _index([rule.names for rule in rules])
        self._urls = [(url, 1 << at) for at, rule in enumerate(rules) for url in rule.urls]
        self._unnamed: _Mask = sum(1 << at for at, rule in enumerate(rules) if not rule.names)

    def lacking(self, rule: Rule) -> Iterator[Rule]:
        """The permissions of a rule that are not granted, each one verb on one resource."""
        verbs = _classes(rule.verbs, lambda verb: _granted(self._verbs, verb))
        groups = _classes(rule.groups, lambda group: _granted(self._groups, group))
        resources = _classes(rule.resources, self._resource)
        names = _classes(rule.names, self._name) if rule.names else {self._unnamed: [(0, "")]}
        for group, resource, verb, name in _uncovered(groups, resources, verbs, names):
            yield Rule((verb,), (group,), (resource,), (name,) if rule.names else ())
        for url, verb in _uncovered(_classes(rule.urls, self._url), verbs):
            yield Rule((verb,), urls=(url,))

    def _resource(self, full_name: str) -> _Mask:
        _, slash, subresource = full_name.partition("/")
        of_any = self._resources.get(f"*/{subresource}", 0) if slash and subresource else 0
        return _granted(self._resources, full_name) | of_any

    def _name(self, name: str) -> _Mask:
        return self._unnamed | self._names.get(name, 0)

    def _url(self, url: str) -> _Mask:
        mask = 0
        for pattern, bit in self._urls:
            if url_covers(pattern, url):
                mask |= bit
        return mask


def _index(values: Sequence[tuple[str, ...]]) -> dict[str, _Mask]:
    found: dict[str, _Mask] = {}
    for at, each in enumerate(values):
        for value in each:
            found[value] = found.get(value, 0) | 1 << at
    return found


def _granted(index: dict[str, _Mask], value: str) -> _Mask:
    return index.get(value, 0) | index.get("*", 0)


def _classes(values: tuple[str, ...], mask_of: Callable[[str], _Mask]) -> _Classes:
    found: _Classes = {}
    for each in enumerate(values):
        found.setdefault(mask_of(each[1]), []).append(each)
    return found


def _uncovered(*sides: _Classes) -> list[tuple[str, ...]]:
    """The combinations of values, one of each side, that no single rule covers, in their order."""
    if prod(map(len, sides)) > _MOST_CLASSES:
        # Only an attack has this many classes: treat all of it as missing.
        return [tuple(next(iter(side.values()))[0][1] for side in sides)]
    found: list[tuple[tuple[int, str], ...]] = []
    for masks in product(*sides):
        common = -1
        for mask in masks:
            common &= mask
        if not common:
            combined = product(*(side[mask] for side, mask in zip(sides, masks, strict=True)))
            found += islice(combined, MOST_LACKING - len(found))
        if len(found) >= MOST_LACKING:
            break
    return [tuple(value for _, value in each) for each in sorted(found)]


def _joined(parts: Iterable[Rule]) -> list[Rule]:
    """Join permissions that differ only in the verb; those with names or URLs stay separate."""
    verbs: dict[Rule, list[str]] = {}
    single: list[Rule] = []
    for part in parts:
        if part.names or part.urls:
            single.append(part)
        else:
            verbs.setdefault(Rule((), part.groups, part.resources), []).append(part.verbs[0])
    return single + [msgspec.structs.replace(thing, verbs=tuple(found)) for thing, found in verbs.items()]

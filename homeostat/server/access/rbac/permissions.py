"""Computes which permissions a user lacks, for the checks of escalation. Pure.

A rule with a thousand verbs, groups and resources means a thousand million permissions, so they are not checked one by
one: values that the same rules cover form one class, and only missing permissions are enumerated.

Both sides may have tens of thousands of rules, so a rule is not compared with all others either: only with those that
have one of its values in the field in which fewest have.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from itertools import chain, islice, product
from math import prod
from typing import Final

import msgspec

from homeostat.objects.access.rule import Rule, size_of, url_covers

MOST_LACKING = 10_000
"""Missing permissions that are reported at most."""
_MOST_CLASSES = 1_000_000
MOST_COMPARED: Final = 4_000_000
"""Values that are compared for all rules together; the rules after that count as missing. Only an attack has more."""
_FEW: Final = 8
"""Values that are searched one by one."""
_ALL: Final = "*"

_Mask = int
"""A bit for each rule that may cover the values."""
_Classes = dict[_Mask, list[tuple[int, str]]]
"""Values by the rules that cover them, with their positions, so that the report keeps their order."""


def missing(granted: Iterable[Rule], wanted: Sequence[Rule]) -> list[Rule]:
    """The permissions of `wanted` that no rule of `granted` covers, as one rule for each group and resource."""
    wanted = tuple(dict.fromkeys(wanted))
    grants = _Grants(granted, wanted)
    return _joined(islice(chain.from_iterable(map(grants.lacking, wanted)), MOST_LACKING))


class _Places:
    """The positions of granted rules by the values of one field, as far as these are wanted."""

    def __init__(self, wanted: set[str]) -> None:
        self._wanted = wanted
        self._of: dict[str, list[int]] = {}

    def add(self, values: Iterable[str], place: int) -> None:
        for value in values:
            if value in self._wanted:
                self._of.setdefault(value, []).append(place)

    def count(self, values: Iterable[str]) -> int:
        return sum(len(self._of.get(each, ())) for each in values)

    def having(self, values: Iterable[str]) -> list[int]:
        return sorted({place for each in values for place in self._of.get(each, ())})


class _Grants:
    def __init__(self, granted: Iterable[Rule], wanted: Sequence[Rule]) -> None:
        self._rules = tuple(dict.fromkeys(granted))
        self._held: dict[int, _Held] = {}
        self._budget = MOST_COMPARED
        self._verbs = _Places({_ALL, *chain.from_iterable(each.verbs for each in wanted)})
        self._groups = _Places({_ALL, *chain.from_iterable(each.groups for each in wanted)})
        self._resources = _Places(set(_with_any(chain.from_iterable(each.resources for each in wanted))))
        self._names = _Places({"", *chain.from_iterable(each.names for each in wanted)})
        self._with_urls: list[int] = []
        for place, rule in enumerate(self._rules):
            self._verbs.add(rule.verbs, place)
            self._groups.add(rule.groups, place)
            self._resources.add(rule.resources, place)
            self._names.add(rule.names or ("",), place)
            if rule.urls:
                self._with_urls.append(place)

    def lacking(self, rule: Rule) -> Iterator[Rule]:
        """The permissions of a rule that are not granted, each one verb on one resource."""
        if rule.groups and rule.resources:
            yield from self._lacking_resources(rule)
        if rule.urls:
            yield from self._lacking_urls(rule)

    def _lacking_resources(self, rule: Rule) -> Iterator[Rule]:
        fields = (
            (self._verbs, (*rule.verbs, _ALL)),
            (self._groups, (*rule.groups, _ALL)),
            (self._resources, tuple(_with_any(rule.resources))),
            (self._names, (*rule.names, "")),
        )
        places, values = min(fields, key=lambda field: field[0].count(field[1]))
        found = self._compared(places.having(values), rule)
        sides = [
            _classes(rule.groups, _mask_of([each.groups for each in found])),
            _classes(rule.resources, _resource_mask([each.resources for each in found])),
            _classes(rule.verbs, _mask_of([each.verbs for each in found])),
            _classes(rule.names or ("",), _name_mask([each.names for each in found])),
        ]
        for group, resource, verb, name in _uncovered(*sides):
            yield Rule((verb,), (group,), (resource,), (name,) if rule.names else ())

    def _lacking_urls(self, rule: Rule) -> Iterator[Rule]:
        found = self._compared(self._with_urls, rule)
        urls = _classes(rule.urls, _url_mask([each.urls for each in found]))
        for url, verb in _uncovered(urls, _classes(rule.verbs, _mask_of([each.verbs for each in found]))):
            yield Rule((verb,), urls=(url,))

    def _compared(self, places: Sequence[int], rule: Rule) -> list[_Held]:
        """The rules at these places, as many as may still be compared with this one."""
        values = size_of([rule])
        chosen = places[: self._budget // values]
        self._budget -= len(chosen) * values
        return [self._held_at(each) for each in chosen]

    def _held_at(self, place: int) -> _Held:
        held = self._held.get(place)
        if held is None:
            held = self._held[place] = _Held(*map(_quickly_searched, msgspec.structs.astuple(self._rules[place])))
        return held


class _Held(msgspec.Struct, frozen=True, gc=False):
    """A rule that the user has."""

    verbs: Collection[str]
    groups: Collection[str]
    resources: Collection[str]
    names: Collection[str]
    urls: Collection[str]


def _quickly_searched(values: tuple[str, ...]) -> Collection[str]:
    return values if len(values) <= _FEW else frozenset(values)


def _with_any(resources: Iterable[str]) -> Iterator[str]:
    """The values of a rule that cover these resources."""
    yield _ALL
    for each in resources:
        yield each
        _, slash, subresource = each.partition("/")
        if slash and subresource:
            yield f"*/{subresource}"


def _mask_of(sides: list[Collection[str]]) -> Callable[[str], _Mask]:
    all_of = _bits(_ALL in each for each in sides)
    return lambda value: all_of | _bits(value in each for each in sides)


def _resource_mask(sides: list[Collection[str]]) -> Callable[[str], _Mask]:
    mask = _mask_of(sides)

    def mask_of(resource: str) -> _Mask:
        _, slash, subresource = resource.partition("/")
        return mask(resource) | (mask(f"*/{subresource}") if slash and subresource else 0)

    return mask_of


def _name_mask(sides: list[Collection[str]]) -> Callable[[str], _Mask]:
    unnamed = _bits(not each for each in sides)
    return lambda name: unnamed | (_bits(name in each for each in sides) if name else 0)


def _url_mask(sides: list[Collection[str]]) -> Callable[[str], _Mask]:
    return lambda url: _bits(any(url_covers(pattern, url) for pattern in each) for each in sides)


def _bits(facts: Iterable[bool]) -> _Mask:
    mask = 0
    for at, fact in enumerate(facts):
        if fact:
            mask |= 1 << at
    return mask


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

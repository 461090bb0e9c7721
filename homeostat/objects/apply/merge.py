"""Merges an applied configuration into an object, and removes the fields that nobody applies any more.

Lists merge by what their schema says: list-maps by key, sets by value, the rest whole. Arguments are
never changed. Results share unchanged parts with them, and are the object itself if nothing changed.
"""

from __future__ import annotations

from collections import Counter

from homeostat.objects.apply.field_set import LEAF, FieldSet, is_member
from homeostat.objects.apply.shape import Shape
from homeostat.objects.json import Json, JsonObject


def merge(live: JsonObject, config: JsonObject, shape: Shape) -> JsonObject:
    """`live` with every field of `config` set; no field is removed."""
    result: JsonObject | None = None
    known = shape.fields
    for name, item in config.items():
        if name in live:
            previous = live[name]
            if previous == item and type(previous) is type(item):
                continue
            child = (known.get(name) or shape.member(name))[1]
            merged = item if child is None else _merged(previous, item, child)
            if merged is previous:
                continue
        else:
            merged = item
        if result is None:
            result = dict(live)
        result[name] = merged
    return live if result is None else result


def _merged(live: Json, config: Json, shape: Shape) -> Json:
    if shape.kind == "list":
        if live and type(live) is list and (config is None or type(config) is list):
            return _merged_lists(live, config, shape) if config else live
        return config
    if live and type(live) is dict:
        if config is None:
            return live
        if type(config) is dict:
            return merge(live, config, shape)
    return config


def _merged_lists(live: list[Json], config: list[Json], shape: Shape) -> list[Json]:
    """Items of `config` keep their order; those only in `live` stay after the items they followed."""
    ours, theirs = shape.elements(live), shape.elements(config)
    if ours is None or theirs is None:
        return config
    wanted = dict(zip(theirs, config, strict=True))
    counts = Counter(ours)
    known = {each: item for each, item in zip(ours, live, strict=True) if counts[each] == 1}
    result: list[Json] = []
    for element, item in _ordered(ours, live, theirs):
        if element not in wanted:
            result.append(item)
        elif element in known:
            mine = wanted[element]
            result.append(mine if shape.item is None else _merged(known[element], mine, shape.item))
        else:
            result.append(wanted[element])
    return live if result == live else result


def _ordered(ours: list[str], live: list[Json], theirs: list[str]) -> list[tuple[str, Json]]:
    """The elements of the merged list in their order, each of `theirs` once, those only in `live` with their item."""
    present, wanted = set(ours), set(theirs)
    shared = iter([element for element in theirs if element in present])
    awaited = next(shared, None)
    result: list[tuple[str, Json]] = []
    left, right = 0, 0
    while left < len(ours) or right < len(theirs):
        if left < len(ours):
            element = ours[left]
            if element not in wanted:
                result.append((element, live[left]))
                left += 1
                continue
            if element != awaited:
                left += 1
                if awaited is not None:
                    continue
        if right < len(theirs):
            if theirs[right] == awaited:
                if left < len(ours) and ours[left] == awaited:
                    left += 1
                awaited = next(shared, None)
            result.append((theirs[right], None))
            right += 1
    return result


def prune(value: JsonObject, last: FieldSet, managed: FieldSet, shape: Shape) -> JsonObject:
    """`value` without the fields that were applied (`last`) and that no manager (`managed`) holds now."""
    result: JsonObject | None = None
    known = shape.fields
    for name, item in value.items():
        key, child, named, _ = known.get(name) or shape.member(name)
        before = last.get(key)
        if before is None:
            continue
        now = managed.get(key)
        explicit = now is not None and is_member(now)
        if (named or is_member(before)) and not (explicit or (named and now is not None)):
            rest: Json = None
        elif not before or child is None:
            continue
        else:
            rest = _pruned(item, before, now or LEAF, child)
            if rest is item:
                continue
        if result is None:
            result = dict(value)
        if rest or (explicit and rest is not None):
            result[name] = rest
        else:
            del result[name]
    return value if result is None else result


def _pruned(value: Json, last: FieldSet, managed: FieldSet, shape: Shape) -> Json:
    if type(value) is dict and shape.kind != "list":
        return prune(value, last, managed, shape)
    if type(value) is not list or shape.kind != "list":
        return value
    elements = shape.elements(value)
    if elements is None:
        return value
    result: list[Json] = []
    for element, item in zip(elements, value, strict=True):
        before = last.get(element)
        now = managed.get(element)
        if before is not None and is_member(before) and not (now is not None and is_member(now)):
            continue
        if before and type(item) is dict and shape.item is not None:
            result.append(_with_keys(_pruned(item, before, now or LEAF, shape.item), item, shape.needed_keys))
        else:
            result.append(item)
    return value if result == value else result


def _with_keys(item: JsonObject, before: JsonObject, keys: tuple[str, ...]) -> JsonObject:
    """An item that stays keeps its keys."""
    missing = {key: before[key] for key in keys if key in before and key not in item}
    return {**missing, **item} if missing else item

"""Lays a changed part of an object over the whole of it. Pure.

Whoever sees an object through a projection changes what it sees; everything else stays as it was, inside lists too,
where a JSON merge patch would lose it: an item keeps its unseen fields when it is still recognised by its name, type
or key, or is unchanged.
"""

from __future__ import annotations

from operator import eq

from homeostat.objects.json import Json

_MARKS = ("name", "type", "key", "uid", "containerPort", "ip")


def overlay(whole: Json, old: Json, new: Json) -> Json:
    """`old` is what was seen of `whole`, `new` what it is to be; None in `new` takes a field away."""
    if old == new:
        return whole
    if isinstance(whole, dict) and isinstance(old, dict) and isinstance(new, dict):
        return _overlay_object(whole, old, new)
    if isinstance(whole, list) and isinstance(old, list) and isinstance(new, list) and len(whole) == len(old):
        places = _matches(old, new)
        return [
            overlay(whole[places[index]], old[places[index]], item) if index in places else item
            for index, item in enumerate(new)
        ]
    return new


def _overlay_object(whole: dict[str, Json], old: dict[str, Json], new: dict[str, Json]) -> dict[str, Json]:
    result = {key: value for key, value in whole.items() if key in new or key not in old}
    for key, value in new.items():
        if key in old and old[key] == value:
            # A default that the projection made up is not written where there was nothing.
            continue
        if value is None:
            result.pop(key, None)
        else:
            result[key] = overlay(whole.get(key), old.get(key), value)
    return result


def _matches(old: list[Json], new: list[Json]) -> dict[int, int]:
    """Which item each new one was before. Items that look alike are taken in their order, each once."""
    places: dict[int, int] = {}
    left = list(range(len(old)))
    for is_match in (eq, _is_same):
        for index, item in enumerate(new):
            if index not in places and isinstance(item, dict | list):
                place = next((each for each in left if is_match(old[each], item)), None)
                if place is not None:
                    places[index] = place
                    left.remove(place)
    return places


def _is_same(seen: Json, item: Json) -> bool:
    if not isinstance(seen, dict) or not isinstance(item, dict):
        return False
    mark = next((each for each in _MARKS if each in seen), None)
    return mark is not None and seen[mark] == item.get(mark)

"""Applies the changes of a projection to the whole object. Pure.

Fields that the projection does not have stay as they were, also inside lists, where a JSON merge patch would lose them:
an item keeps its other fields if it is recognised by its name, type or key, or is unchanged.
"""

from __future__ import annotations

from operator import eq

from homeostat.objects.json import Json

_MARKS = ("name", "type", "key", "uid", "containerPort", "ip")


def overlay(whole: Json, old: Json, new: Json) -> Json:
    """`old` is the projection of `whole`, `new` the changed projection; None in `new` removes a field."""
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
            # A default of the projection is not written to a field that did not exist.
            continue
        if value is None:
            result.pop(key, None)
        else:
            result[key] = overlay(whole.get(key), old.get(key), value)
    return result


def _matches(old: list[Json], new: list[Json]) -> dict[int, int]:
    """The former item of each new one. Equal items are matched in order, each once."""
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

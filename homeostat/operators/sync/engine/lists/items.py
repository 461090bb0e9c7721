"""The answer to a list: its items, and the alias and id of each. Pure.

A list is an array, an object with an array `items`, or an object with exactly one array.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from homeostat.objects.json import Json, JsonObject
from homeostat.operators.sync.engine.errors import ConflictError, ListShapeError, UnrenderedError, ValidationError
from homeostat.operators.sync.engine.metadata.rules import Rules
from homeostat.operators.sync.engine.paths.logical import join

COMMON_IDS = ("id", "name", "key", "uuid", "uid", "alias")


@dataclass(frozen=True, slots=True)
class Item:
    path: str
    alias: str
    id: str
    value: JsonObject


def items_of(value: Json) -> list[Json]:
    """The values in the answer; `ListShapeError` if it is no list."""
    if isinstance(value, list):
        return value
    if isinstance(value, dict):
        if isinstance(value.get("items"), list):
            return list(value["items"])
        arrays = [each for each in value.values() if isinstance(each, list)]
        if len(arrays) == 1:
            return list(arrays[0])
        raise ListShapeError(f"the answer is not a list: an object with {len(arrays)} arrays, expected one")
    if value is None:
        return []
    raise ListShapeError("the answer is not a list: expected an array, or an object with one array")


def identified(collection: str, values: Sequence[Json], rules: Rules) -> list[Item]:
    """Sorted by path; `ConflictError` if two items have the same alias."""
    found = dict[str, Item]()
    for place, each in enumerate(values):
        item = _item(collection, each, place, rules)
        if item.path in found:
            raise ConflictError(f'{collection}: two items of the list have the alias "{item.alias}"')
        found[item.path] = item
    return [found[path] for path in sorted(found)]


def _item(collection: str, value: Json, place: int, rules: Rules) -> Item:
    if not isinstance(value, dict):
        raise ValidationError(f"{collection}: item {place} of the list is not an object")
    alias, identity = identity_of(rules, value)
    if not alias:
        raise ValidationError(
            f'{collection}: item {place} of the list has neither an alias "{rules.alias.text}" nor an id '
            f'"{rules.id.text}"; set resource.id and resource.alias in the metadata'
        )
    return Item(join(collection, alias), alias, identity, value)


def identity_of(rules: Rules, payload: Json) -> tuple[str, str]:
    """Alias and id of a payload, each standing in for the other; both empty if it has neither."""
    found = []
    for each in (rules.alias, rules.id):
        try:
            found.append(each.render(payload))
        except UnrenderedError:
            found.append("")
    alias, identity = found
    return alias or identity, identity or alias


def matching(items: Sequence[Item], name: str) -> Item | None:
    """The item with this alias or id; `ConflictError` if they are two."""
    found = [each for each in items if name in (each.alias, each.id)]
    if len(found) > 1:
        raise ConflictError(f'"{name}" is ambiguous: it is the alias of one object and the id of another')
    if found:
        return found[0]
    common = [each for each in items if any(str(each.value.get(key, "")) == name for key in COMMON_IDS)]
    return common[0] if len(common) == 1 else None

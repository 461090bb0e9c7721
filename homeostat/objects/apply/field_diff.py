"""Which fields an object has, and which differ between two of them, as sets of field paths.

The three functions differ: `fields_of` names what a configuration applies (structs on the way are not members);
`created_fields` and `compare` name what a write added, changed or removed (everything new is a member). Equal parts are
skipped at the speed of `==`, so the cost of an update depends on what it changes.
"""

from __future__ import annotations

from collections import Counter

from homeostat.objects.apply.field_set import LEAF, FieldSet, path_text
from homeostat.objects.apply.shape import Shape
from homeostat.objects.errors import InvalidError
from homeostat.objects.json import Json, JsonObject

_ABSENT = object()


def fields_of(value: JsonObject, shape: Shape) -> FieldSet:
    """The fields that applying `value` claims; `InvalidError` for list items without a distinct key."""
    result: FieldSet = {}
    known = shape.fields
    name = ""
    try:
        for name, item in value.items():
            key, child, named, _ = known.get(name) or shape.member(name)
            if child is None:
                result[key] = LEAF
                continue
            node = _claimed(item, child)
            if not named:
                node = {".": LEAF, **node} if node else LEAF
            if node is not None:
                result[key] = node
    except InvalidError as error:
        raise InvalidError(f".{name}{error.message}") from None
    return result


def _claimed(value: Json, shape: Shape) -> FieldSet | None:
    """The node of a value without its own `.`; None for an empty list, and for values that hold only empty lists: they
    claim nothing.
    """
    if type(value) is dict:
        if not value or shape.kind == "list":
            return LEAF
        return fields_of(value, shape) or None
    if type(value) is not list or shape.kind != "list":
        return LEAF
    return _claimed_items(value, shape) if value else None


def _claimed_items(items: list[Json], shape: Shape) -> FieldSet:
    elements = shape.elements(items)
    if elements is None:
        keys = ", ".join(shape.keys)
        raise InvalidError(f": every item needs {f'the keys {keys}' if keys else 'to be a scalar'}")
    if repeated := _repeated(elements):
        raise InvalidError(f": duplicate entries for key {path_text((min(repeated),))}")
    item_shape = shape.item
    if item_shape is None:
        return dict.fromkeys(elements, LEAF)
    result: FieldSet = {}
    try:
        for element, item in zip(elements, items, strict=True):
            below = _claimed(item, item_shape)
            result[element] = {".": LEAF, **below} if below else LEAF
    except InvalidError as error:
        raise InvalidError(f"{path_text((element,))}{error.message}") from None
    return result


def _repeated(elements: list[str]) -> set[str]:
    if len(set(elements)) == len(elements):
        return set()
    return {element for element, count in Counter(elements).items() if count > 1}


def created_fields(value: JsonObject, shape: Shape) -> FieldSet:
    """The fields that creating `value` sets, compared with an empty object of its kind."""
    result: FieldSet = {}
    known = shape.fields
    for name, item in value.items():
        key, child, _, existed = known.get(name) or shape.member(name)
        if child is None:
            result[key] = LEAF
        elif not existed:
            result[key] = _added(item, child)
        elif item and type(item) is dict:
            if node := created_fields(item, child):
                result[key] = node
        elif item:
            node = _added(item, child)
            result[key] = {each: below for each, below in node.items() if each != "."} if len(node) > 1 else node
    return result


def _added(value: Json, shape: Shape | None) -> FieldSet:
    """The node of a value that was added or removed."""
    if shape is None or not value:
        return LEAF
    if type(value) is dict and shape.kind != "list":
        result: FieldSet = {".": LEAF}
        known = shape.fields
        for name, item in value.items():
            key, child, _, _ = known.get(name) or shape.member(name)
            result[key] = LEAF if child is None else _added(item, child)
        return result
    if type(value) is list and shape.kind == "list" and (elements := shape.elements(value)) is not None:
        repeated = _repeated(elements)
        return {
            ".": LEAF,
            **{
                element: LEAF if element in repeated else _added(item, shape.item)
                for element, item in zip(elements, value, strict=True)
            },
        }
    return LEAF


def compare(old: JsonObject, new: JsonObject, shape: Shape) -> tuple[FieldSet, FieldSet]:
    """The fields that `new` changed or added, and those it removed."""
    changed: FieldSet = {}
    removed: FieldSet = {}
    known = shape.fields
    for name, item in new.items():
        previous = old.get(name, _ABSENT)
        if previous is item or previous == item:
            continue
        key, child, _, _ = known.get(name) or shape.member(name)
        if previous is _ABSENT:
            changed[key] = LEAF if child is None else _added(item, child)
        elif child is None:
            changed[key] = LEAF
        else:
            _note(key, _differ(previous, item, child), changed, removed)
    if len(old) + len(changed) > len(new):
        for name in old.keys() - new.keys():
            key, child, _, _ = known.get(name) or shape.member(name)
            removed[key] = _added(old[name], child)
    return changed, removed


def _note(key: str, found: tuple[FieldSet | None, FieldSet | None], changed: FieldSet, removed: FieldSet) -> None:
    if found[0] is not None:
        changed[key] = found[0]
    if found[1] is not None:
        removed[key] = found[1]


def _differ(old: Json, new: Json, shape: Shape | None) -> tuple[FieldSet | None, FieldSet | None]:
    """The changed and the removed fields below a path whose value differs; None if there are none."""
    if shape is None or not (old or new):
        return LEAF, None
    if shape.kind == "list":
        return _differ_lists(old or [], new or [], shape)
    ours, theirs = type(old) is dict, type(new) is dict
    if (ours or old is None) and (theirs or new is None):
        changed, removed = compare(old or {}, new or {}, shape)
        return changed or None, removed or None
    if theirs:
        return {".": LEAF, **_added(new, shape)}, None
    if ours:
        return LEAF, {key: node for key, node in _added(old, shape).items() if key != "."} or None
    return LEAF, None


def _differ_lists(old: Json, new: Json, shape: Shape) -> tuple[FieldSet | None, FieldSet | None]:
    if type(old) is not list or type(new) is not list:
        return LEAF, None
    ours, theirs = shape.elements(old), shape.elements(new)
    if ours is None or theirs is None:
        return LEAF, None
    before, after = _grouped(ours, old), _grouped(theirs, new)
    changed: FieldSet = {}
    removed: FieldSet = {}
    for element in {**before, **after}:
        previous, items = before.get(element, []), after.get(element, [])
        if previous == items:
            continue
        if len(previous) == len(items) == 1:
            _note(element, _differ(previous[0], items[0], shape.item), changed, removed)
            continue
        # Items with the same key are one field, so a second one adds or removes the fields below a single item.
        both_repeated = len(previous) > 1 and len(items) > 1
        if items:
            changed[element] = _added(items[0], shape.item) if len(items) == 1 else LEAF
        if previous and not both_repeated:
            removed[element] = _added(previous[0], shape.item) if len(previous) == 1 else LEAF
    return changed or None, removed or None


def _grouped(elements: list[str], items: list[Json]) -> dict[str, list[Json]]:
    groups: dict[str, list[Json]] = {}
    for element, item in zip(elements, items, strict=True):
        groups.setdefault(element, []).append(item)
    return groups

"""Strategic merge patch: a merge patch that knows from the schema which lists merge, and by which key.

Directives: `$patch: replace|delete|merge`, `$retainKeys`, `$setElementOrder/<list>`, `$deleteFromPrimitiveList/<list>`.
The document and the patch are never changed; the result shares with both. An unknown directive is a
`BadRequestError`, a patch whose lists contradict each other an `InvalidError`.
"""

from __future__ import annotations

from homeostat.objects.errors import BadRequestError, InvalidError, quoted
from homeostat.objects.json import Json, JsonObject, type_name
from homeostat.objects.schema.schema import Schema

_PATCH = "$patch"
_RETAIN = "$retainKeys"
_ORDER = "$setElementOrder/"
_DELETE = "$deleteFromPrimitiveList/"


def strategic_merge_patch(document: JsonObject, patch: Json, schema: Schema) -> JsonObject:
    if not isinstance(patch, dict):
        raise BadRequestError(f"a strategic merge patch must be an object, not {type_name(patch)}")
    return _merge_map(document, patch, schema)


def _merge_map(original: JsonObject, patch: JsonObject, schema: Schema | None) -> JsonObject:
    directive = patch.get(_PATCH)
    if directive is not None:
        if directive == "delete":
            return {}
        if directive == "replace":
            replaced: JsonObject = _plain({name: item for name, item in patch.items() if name != _PATCH})
            return replaced
        if directive != "merge":
            raise BadRequestError(f"unknown patch type {quoted(directive)}")
    result = _retained(original, patch) if _RETAIN in patch else dict(original)
    directives = {name: None for name in patch if name[:1] == "$" and _is_directive(name)}
    for directive in directives:
        if directive.startswith(_ORDER):
            _set_order(directive, patch, result, schema)
    for name, item in patch.items():
        if item is None:
            result.pop(name, None)
        elif name not in directives and _ORDER + name not in patch and (name in result or not _is_deletion(item)):
            result[name] = _merge_value(result.get(name), item, _member(schema, name))
    for directive in directives:
        if directive.startswith(_DELETE):
            _delete_values(directive, patch, result)
    return result


def _is_directive(name: str) -> bool:
    if name in (_PATCH, _RETAIN) or name.startswith((_ORDER, _DELETE)):
        return True
    raise BadRequestError(f"unknown directive {quoted(name)}")


def _is_deletion(item: Json) -> bool:
    return type(item) is dict and item.get(_PATCH) == "delete"


def _member(schema: Schema | None, name: str) -> Schema | None:
    return schema.field(name) if schema else None


def _retained(original: JsonObject, patch: JsonObject) -> JsonObject:
    """The original with only the keys of `$retainKeys`, which must name all that the patch sets."""
    keys = patch[_RETAIN]
    if not isinstance(keys, list) or not all(isinstance(key, str) for key in keys):
        raise BadRequestError("invalid patch format of retainKeys")
    wanted = set(keys)
    if any(item is not None and name[:1] != "$" and name not in wanted for name, item in patch.items()):
        raise BadRequestError("invalid patch format of retainKeys: the patch sets a key that is not in it")
    return {name: item for name, item in original.items() if name in wanted}


def _set_order(directive: str, patch: JsonObject, result: JsonObject, schema: Schema | None) -> None:
    """Merges the list that a `$setElementOrder` names, and puts it in that order."""
    name = directive[len(_ORDER) :]
    _require_list(patch[directive], directive)
    merged = _reordered(result.get(name), patch.get(name), patch[directive], _member(schema, name))
    if merged is not None:
        result[name] = merged


def _delete_values(directive: str, patch: JsonObject, result: JsonObject) -> None:
    name = directive[len(_DELETE) :]
    _require_list(patch[directive], directive)
    if isinstance(result.get(name), list):
        deleted = set(map(_hashable, patch[directive]))
        result[name] = [item for item in result[name] if _hashable(item) not in deleted]


def _require_list(value: Json, directive: str) -> None:
    if not isinstance(value, list):
        raise BadRequestError(f"invalid patch format: {quoted(directive)} must be a list")


def _merge_value(original: Json, patch: Json, schema: Schema | None) -> Json:
    if type(patch) is dict:
        if type(original) is not dict:
            return _plain(patch)
        if schema is not None and "replace" in schema.patch_strategy:
            return patch
        return _merge_map(original, patch, schema)
    if type(patch) is list:
        if type(original) is not list or schema is None or "merge" not in schema.patch_strategy:
            return _plain(patch)
        return _merge_list(original, patch, schema)
    return patch


def _plain(value: Json) -> Json:
    """A part of a patch that has no counterpart in the original: without nulls, directives and what they delete."""
    if type(value) is dict:
        return {
            name: _plain(item)
            for name, item in value.items()
            if item is not None and not _is_deletion(item) and not (name[:1] == "$" and _is_directive(name))
        }
    if type(value) is list:
        return [
            _plain(item) for item in value if not (type(item) is dict and item.get(_PATCH) in ("delete", "replace"))
        ]
    return value


def _merge_list(original: list[Json], patch: list[Json], schema: Schema) -> list[Json]:
    if not patch:
        return original
    if not any(type(item) is dict for item in (*original, *patch)):
        known = set(map(_hashable, original))
        added = {_hashable(item): item for item in reversed(patch)}
        new = [added[name] for name in dict.fromkeys(map(_hashable, patch)) if name not in known]
        return _ordered([*original, *new], patch, original, "")
    key = schema.patch_merge_key
    _require_keys(original, patch, key)
    base, rest = _without_special(original, patch, key)
    merged = list(base)
    places = {_hashable(_name(item, key)): place for place, item in reversed(list(enumerate(merged)))}
    for item in rest:
        place = places.setdefault(_hashable(item[key]), len(merged))
        if place == len(merged):
            merged.append(_plain(item))
        else:
            merged[place] = _merge_map(merged[place], item, schema.items)
    return _ordered(merged, rest, base, key)


def _require_keys(original: list[Json], patch: list[Json], key: str) -> None:
    if not key:
        raise InvalidError("cannot merge lists of objects without a merge key")
    for item in (*original, *patch):
        if type(item) is not dict:
            raise InvalidError("cannot merge a list whose items are not all objects")
    for item in patch:
        if key not in item and item.get(_PATCH) != "replace":
            raise InvalidError(f"map: {quoted(item)} does not contain declared merge key: {key}")


def _without_special(original: list[Json], patch: list[Json], key: str) -> tuple[list[Json], list[Json]]:
    """The original after the patch's `$patch` items, and the patch without them."""
    rest: list[Json] = []
    deleted: set[Json] = set()
    replace = False
    for item in patch:
        directive = item.get(_PATCH)
        if directive is None:
            rest.append(item)
        elif directive == "delete":
            deleted.add(_hashable(item[key]))
        elif directive == "replace":
            replace = True
        elif directive == "merge":
            raise InvalidError("merging lists cannot yet be specified in the patch")
        else:
            raise BadRequestError(f"unknown patch type {quoted(directive)}")
    if replace:
        return [_plain(item) for item in rest], []
    return [each for each in original if _hashable(each.get(key)) not in deleted] if deleted else original, rest


def _reordered(original: Json, patch: Json, order: list[Json], schema: Schema | None) -> list[Json] | None:
    """The merged list in the order that `$setElementOrder` gives; None if there is no list at all."""
    key = schema.patch_merge_key if schema else ""
    if type(patch) is list:
        _check_order(patch, order, key)
        merged = _merge_value(original, patch, schema)
    elif type(original) is list:
        merged = original
    else:
        return None
    return _ordered(merged, order, original if type(original) is list else [], key)


def _check_order(patch: list[Json], order: list[Json], key: str) -> None:
    """Every item that the patch sets stands in the order list, and in that order."""
    wanted = iter([_name(item, key) for item in order])
    for item in patch:
        if type(item) is dict and item.get(_PATCH) is not None:
            continue
        if _name(item, key) not in wanted:
            raise InvalidError("the order in the patch list does not match its $setElementOrder list")


def _name(item: Json, key: str) -> Json:
    return item.get(key) if key and type(item) is dict else item


def _ordered(merged: list[Json], first: list[Json], server: list[Json], key: str) -> list[Json]:
    """`merged` with the items of `first` in that order; the others keep their place relative to those on the server."""
    places = {_hashable(_name(item, key)): place for place, item in reversed(list(enumerate(first)))}
    server_places = {_hashable(_name(item, key)): place for place, item in reversed(list(enumerate(server)))}
    named = [(_hashable(_name(item, key)), item) for item in merged]
    ours = sorted((each for each in named if each[0] in places), key=lambda each: places[each[0]])
    others = [each for each in named if each[0] not in places]
    others.sort(key=lambda each: server_places.get(each[0], len(server)))
    result: list[Json] = []
    left, right = 0, 0
    while left < len(others) and right < len(ours):
        mine, theirs = server_places.get(others[left][0], -1), server_places.get(ours[right][0], -1)
        if 0 <= mine < theirs:
            result.append(others[left][1])
            left += 1
        else:
            result.append(ours[right][1])
            right += 1
    return [*result, *(item for _, item in others[left:]), *(item for _, item in ours[right:])]


def _hashable(name: Json) -> Json:
    """A key for dictionaries: lists are matched by it in linear time. `true` is not 1, but 1 is 1.0."""
    return quoted(name) if isinstance(name, (dict, list)) else (type(name) is bool, name)

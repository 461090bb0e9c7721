"""Removes the fields that a schema does not know, and returns their paths.

One walk over the value finds all of them; paths are built only for what is found, so an object without unknown fields
costs only the walk. `null` where the schema does not allow it and has no default counts as absent, as in Kubernetes,
and is removed silently. The `metadata` of a custom object, its `apiVersion` and its `kind` belong to the server, not to
the schema, and stay; so do those of embedded resources, but for unknown members of their metadata.
"""

from __future__ import annotations

from homeostat.objects.errors import BadRequestError
from homeostat.objects.json import Json, JsonObject
from homeostat.objects.schema.schema import UNSET, Schema

_META = frozenset(("apiVersion", "kind", "metadata"))
_OBJECT_META = frozenset(
    {"name", "generateName", "namespace", "selfLink", "uid", "resourceVersion", "generation", "creationTimestamp"}
    | {"deletionTimestamp", "deletionGracePeriodSeconds", "labels", "annotations", "ownerReferences", "finalizers"}
    | {"managedFields"}
)
_NOTHING = Schema()
_SCALARS = frozenset((str, int, float, bool))

# The object that holds the field, its key there, and its path from where the walk stands; no path for a null.
_Found = tuple[JsonObject, str, str | None]


def prune(value: JsonObject, schema: Schema, *, keeps_nulls: bool = False) -> list[str]:
    """Removes unknown fields in place; the paths of those removed, sorted: `spec.parts[0].colour`.

    Nulls that the schema does not allow go too, unless `keeps_nulls` leaves them to validation.
    """
    found = _search(value, schema)
    if not found:
        return []
    for holder, key, path in found:
        if path is not None or not keeps_nulls:
            del holder[key]
    return sorted(path for _, _, path in found if path is not None)


def unknown_fields(value: JsonObject, schema: Schema) -> list[str]:
    """What `prune` would remove and name."""
    found = _search(value, schema)
    return sorted(path for _, _, path in found if path is not None) if found else []


def _search(value: JsonObject, schema: Schema) -> list[_Found] | None:
    try:
        # Built-in kinds have their metadata in the schema.
        return _in_object(value, schema) if schema.name else _in_resource(value, schema)
    except RecursionError as error:
        raise BadRequestError("the object is nested too deeply") from error


def _in_object(value: JsonObject, schema: Schema) -> list[_Found] | None:
    found: list[_Found] | None = None
    below: list[_Found] | None
    properties, additional = schema.properties, schema.additional
    for key, child in value.items():
        kind = child.__class__
        if kind in _SCALARS and key in properties:
            continue
        node = properties.get(key, additional)
        if node is None:
            if not schema.preserve_unknown:
                found = _add(found, (value, key, key))
            continue
        if kind is dict:
            below = _in_embedded(child, node) if node.embedded else _in_object(child, node)
        elif kind is list:
            below = _in_list(child, node)
        else:
            if child is None and not node.nullable and node.default is UNSET:
                found = _add(found, (value, key, None))
            continue
        if below:
            found = _under(found, f"{key}.", key, below)
    return found


def _in_resource(value: JsonObject, schema: Schema) -> list[_Found] | None:
    rest = value.copy()
    for key in _META:
        rest.pop(key, None)
    found = _in_object(rest, schema)
    if found:
        return [(value if holder is rest else holder, key, path) for holder, key, path in found]
    return None


def _in_embedded(value: JsonObject, schema: Schema) -> list[_Found] | None:
    """Also unknown members of its metadata; those of the object itself are checked when its body is read."""
    found, metadata = _in_resource(value, schema), value.get("metadata")
    if metadata is None and "metadata" in value:
        value["metadata"] = {}
    if isinstance(metadata, dict):
        for key in metadata.keys() - _OBJECT_META:
            found = _add(found, (metadata, key, f"metadata.{key}"))
    return found


def _in_list(values: list[Json], schema: Schema) -> list[_Found] | None:
    node = schema.items
    if node is None:
        if schema.preserve_unknown:
            return None
        node = _NOTHING
    elif schema.preserve_unknown and not node.preserve_unknown:
        node = _preserving(node)
    found: list[_Found] | None = None
    below: list[_Found] | None
    for at, child in enumerate(values):
        kind = child.__class__
        if kind is dict:
            below = _in_embedded(child, node) if node.embedded else _in_object(child, node)
        elif kind is list:
            below = _in_list(child, node)
        else:
            continue
        if below:
            found = _under(found, f"[{at}].", f"[{at}]", below)
    return found


def _preserving(node: Schema) -> Schema:
    """Items of a list that keeps unknown fields keep theirs too."""
    return Schema(
        properties=node.properties,
        additional=node.additional,
        items=node.items,
        preserve_unknown=True,
        embedded=node.embedded,
    )


def _add(found: list[_Found] | None, one: _Found) -> list[_Found]:
    if found is None:
        return [one]
    found.append(one)
    return found


def _under(found: list[_Found] | None, dotted: str, bare: str, below: list[_Found]) -> list[_Found]:
    moved: list[_Found] = [
        (holder, key, None if path is None else bare + path if path.startswith("[") else dotted + path)
        for holder, key, path in below
    ]
    if found is None:
        return moved
    found.extend(moved)
    return found

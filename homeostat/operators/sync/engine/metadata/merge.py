"""How a layer of metadata changes what outer layers say. Pure.

Scalars and lists replace; an explicit empty list clears. `query` and `headers` merge by key; an explicit empty map
clears. Operations merge one by one, `validate` by field. `resource.defaults` merges by its mode. `selector` is never
merged.
"""

from __future__ import annotations

from homeostat.objects.json import Json, JsonObject


def merged(outer: JsonObject, inner: JsonObject) -> JsonObject:
    found: JsonObject = {}
    if "resource" in outer or "resource" in inner:
        found["resource"] = _resource(outer.get("resource", {}), inner.get("resource", {}))
    if "operations" in outer or "operations" in inner:
        found["operations"] = _operations(outer.get("operations", {}), inner.get("operations", {}))
    return found


def _resource(outer: JsonObject, inner: JsonObject) -> JsonObject:
    found = {**outer, **inner}
    if "defaults" in outer and "defaults" in inner:
        found["defaults"] = defaults(outer["defaults"], inner["defaults"])
    # The later one of two that exclude each other counts.
    if inner.get("secret"):
        found.pop("secretAttributes", None)
    elif inner.get("secretAttributes") and "secret" not in inner:
        found.pop("secret", None)
    return found


def defaults(outer: JsonObject, inner: JsonObject) -> JsonObject:
    mode = inner.get("mode", "inherit")
    if mode == "replace":
        base: JsonObject = {}
    elif mode == "ignore":
        base = {key: item for key, item in outer.items() if key == "profiles"}
    else:
        base = outer
    found = {**base, **inner}
    if "value" in base and "value" in inner:
        found["value"] = overlaid(base["value"], inner["value"])
    if "profiles" in base and "profiles" in inner:
        both = base["profiles"].keys() & inner["profiles"].keys()
        joined = {name: overlaid(base["profiles"][name], inner["profiles"][name]) for name in both}
        found["profiles"] = {**base["profiles"], **inner["profiles"], **joined}
    return found


def overlaid(under: Json, over: Json) -> Json:
    """Objects merge, everything else replaces; an explicit null counts."""
    if not isinstance(under, dict) or not isinstance(over, dict):
        return over
    return {**under, **{key: overlaid(under[key], item) if key in under else item for key, item in over.items()}}


def _operations(outer: JsonObject, inner: JsonObject) -> JsonObject:
    return {
        name: _operation(outer.get(name, {}), inner.get(name, {}))
        for name in (*outer, *(each for each in inner if each not in outer))
    }


def _operation(outer: JsonObject, inner: JsonObject) -> JsonObject:
    found = {**outer, **inner}
    for key in ("query", "headers", "validate", "pagination"):
        if outer.get(key) and inner.get(key):
            found[key] = {**outer[key], **inner[key]}
    return found

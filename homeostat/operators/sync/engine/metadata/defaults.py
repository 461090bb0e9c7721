"""Defaults under a payload: laid under it, taken out of it, and inferred from samples. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from homeostat.objects.json import Json, JsonObject
from homeostat.operators.sync.engine.errors import ValidationError
from homeostat.operators.sync.engine.metadata.merge import overlaid
from homeostat.operators.sync.engine.payload.pointer import MISSING
from homeostat.operators.sync.engine.payload.value import is_same


def effective(block: JsonObject) -> JsonObject | None:
    """The value, and over it each used profile in order; None if there are no defaults."""
    found: Json = block.get("value")
    for name in block.get("useProfiles", ()):
        profile = block.get("profiles", {}).get(name)
        if profile is None:
            raise ValidationError(f'resource.defaults uses profile "{name}", and there is none of that name')
        found = profile if found is None else overlaid(found, profile)
    if found is not None and not isinstance(found, dict):
        raise ValidationError("resource.defaults: the defaults are not an object")
    return found


def with_defaults(payload: Json, defaults: JsonObject | None) -> Json:
    """The payload over its defaults; an explicit null of the payload counts."""
    if defaults is None:
        return payload
    if not isinstance(payload, dict):
        raise ValidationError("there are defaults for the payload, but it is not an object")
    return overlaid(defaults, payload)


def compact(payload: Json, defaults: JsonObject | None) -> Json:
    """What is left of the payload when that is taken out which its defaults say."""
    if not defaults or not isinstance(payload, dict):
        return payload
    found = {}
    for key, item in payload.items():
        default = defaults.get(key, MISSING)
        if default is MISSING:
            found[key] = item
        elif isinstance(item, dict) and isinstance(default, dict) and item:
            if inner := compact(item, default):
                found[key] = inner
        elif not is_same(item, default):
            found[key] = item
    return found


def infer(samples: Sequence[Json]) -> JsonObject:
    """The leaves that all samples share."""
    if not samples or not all(isinstance(each, dict) for each in samples):
        return {}
    found = samples[0]
    for each in samples[1:]:
        found = _shared(found, each)
    return dict(found)


def _shared(a: JsonObject, b: JsonObject) -> JsonObject:
    found = {}
    for key, item in a.items():
        other = b.get(key, MISSING)
        if isinstance(item, dict) and isinstance(other, dict):
            inner = _shared(item, other)
            if inner or not (item or other):
                found[key] = inner
        elif other is not MISSING and is_same(item, other):
            found[key] = item
    return found


def added(results: Sequence[Json], sent: Sequence[Json]) -> JsonObject:
    """What the server gave to all of its results and nobody sent."""
    found = infer(results)
    for each in sent:
        found = _less(found, each)
    return found


def _less(value: JsonObject, sent: Json) -> JsonObject:
    if not isinstance(sent, dict):
        return value
    found = {}
    for key, item in value.items():
        if key not in sent:
            found[key] = item
        elif isinstance(item, dict) and isinstance(sent[key], dict) and (inner := _less(item, sent[key])):
            found[key] = inner
    return found

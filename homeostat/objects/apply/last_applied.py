"""From kubectl's client-side apply to server-side apply and back, without conflicts.

Client-side apply stores its manifest in an annotation. When kubectl then uses server-side apply, it owns the fields of
that manifest that still have its values, whichever manager set them. The annotation is updated too, so that the next
client-side apply knows what to remove. Managers with other names are not affected.
"""

from __future__ import annotations

import msgspec

from homeostat.objects.apply.field_diff import compare, fields_of
from homeostat.objects.apply.field_set import LEAF, FieldSet, difference
from homeostat.objects.apply.shape import Shape
from homeostat.objects.errors import ApiError, BadRequestError
from homeostat.objects.json import JsonObject, decode_object
from homeostat.objects.meta import LAST_APPLIED

MANAGER = "kubectl"

_encode_sorted = msgspec.json.Encoder(order="sorted").encode


def client_side_fields(live: JsonObject, shape: Shape) -> FieldSet:
    """The fields that client-side apply set and nobody changed since; none without the annotation."""
    manifest = _remembered(live)
    if manifest is None:
        return LEAF
    try:
        changed, removed = compare(manifest, live, shape)
        return difference(difference(fields_of(manifest, shape), changed), removed)
    except ApiError:
        return LEAF


def remember(applied: JsonObject, config: JsonObject) -> JsonObject:
    """The object with its annotation, if it has one, updated to this configuration; the object itself if nothing
    changes.
    """
    manifest = _remembered(applied)
    if manifest is None:
        return applied
    wanted = _bare(config)
    if _bare(manifest) == wanted:
        return applied
    metadata = applied["metadata"]
    text = _encode_sorted(wanted).decode() + "\n"
    return {**applied, "metadata": {**metadata, "annotations": {**metadata["annotations"], LAST_APPLIED: text}}}


def _remembered(obj: JsonObject) -> JsonObject | None:
    annotations = (obj.get("metadata") or {}).get("annotations")
    text = annotations.get(LAST_APPLIED) if isinstance(annotations, dict) else None
    if not isinstance(text, str) or not text:
        return None
    try:
        return decode_object(text.encode())
    except BadRequestError:
        return None


def _bare(config: JsonObject) -> JsonObject:
    """A configuration without the annotation itself, in the form kubectl writes: annotations are never absent."""
    metadata = config.get("metadata")
    if not isinstance(metadata, dict):
        return config
    annotations = metadata.get("annotations")
    stated = annotations if isinstance(annotations, dict) else {}
    rest = {name: value for name, value in stated.items() if name != LAST_APPLIED}
    return {**config, "metadata": {**metadata, "annotations": rest}}

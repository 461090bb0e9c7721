"""Reads the `spec` of objects that are not stored: reviews, token requests."""

from __future__ import annotations

from typing import TypeVar

import msgspec

from homeostat.objects.errors import BadRequestError
from homeostat.objects.json import Json, type_name

T = TypeVar("T")


def read_spec(obj: Json, shape: type[T]) -> T:
    """`spec` as `shape`; null counts as absent, as everywhere in Kubernetes; `BadRequestError` for a wrong type."""
    if not isinstance(obj, dict):
        raise BadRequestError(f"expected an object, got {type_name(obj)}")
    try:
        return msgspec.convert(_without_nulls(_without_nulls(obj).get("spec", {})), shape)
    except msgspec.ValidationError as error:
        raise BadRequestError(f"{obj.get('kind', 'the object')}: spec: {error}") from error


def _without_nulls(value: Json) -> Json:
    """Without nulls, down to the fields of the spec's own objects: such specs are no deeper."""
    if not isinstance(value, dict):
        return value
    return {
        key: {name: each for name, each in inner.items() if each is not None} if isinstance(inner, dict) else inner
        for key, inner in value.items()
        if inner is not None
    }

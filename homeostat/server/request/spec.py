"""Reads the `spec` of objects that are not stored: reviews, token requests."""

from __future__ import annotations

from typing import TypeVar

import msgspec

from homeostat.objects.errors import BadRequestError
from homeostat.objects.json import Json, type_name, without_nulls

T = TypeVar("T")


def read_spec(obj: Json, shape: type[T]) -> T:
    """`spec` as `shape`; null counts as absent, as everywhere in Kubernetes; `BadRequestError` for a wrong type."""
    if not isinstance(obj, dict):
        raise BadRequestError(f"expected an object, got {type_name(obj)}")
    try:
        return msgspec.convert(without_nulls(obj["spec"] if obj.get("spec") is not None else {}), shape)
    except msgspec.ValidationError as error:
        raise BadRequestError(f"{obj.get('kind', 'the object')}: spec: {error}") from error

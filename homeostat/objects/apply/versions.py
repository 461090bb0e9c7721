"""An object at the versions of its managers, where those versions have fields of their own. Pure.

The managedFields of an object name fields as each manager saw them, so a manager's fields can only be compared at its
own version. Webhooks convert, which takes time: `at` raises `UnconvertedError` for an object that is not known at the
version. The caller has it converted, adds it with `learn`, and starts again.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from homeostat.objects.apply.shape import Shape, shape_of
from homeostat.objects.json import JsonObject, encode
from homeostat.objects.schema.schema import Schema


class UnconvertedError(Exception):
    """The object `obj` is needed at another version."""

    def __init__(self, obj: JsonObject, api_version: str) -> None:
        super().__init__(f"{obj.get('apiVersion')} is not yet known as {api_version}")
        self.obj, self.api_version = obj, api_version


class HasSchema(Protocol):
    @property
    def schema(self) -> Schema: ...


class Versions:
    def __init__(self, known: Mapping[str, HasSchema]) -> None:
        """`known` has each version of the kind by its apiVersion."""
        self._schemas = known
        self._converted: dict[tuple[bytes, str], JsonObject] = {}

    def __contains__(self, api_version: object) -> bool:
        return api_version in self._schemas

    def shape(self, api_version: str) -> Shape:
        return shape_of(self._schemas[api_version].schema)

    def at(self, obj: JsonObject, api_version: str) -> JsonObject:
        if obj.get("apiVersion") == api_version:
            return obj
        plain = _without_managers(obj)
        found = self._converted.get((encode(plain), api_version))
        if found is None:
            raise UnconvertedError(plain, api_version)
        return found

    def learn(self, missing: UnconvertedError, converted: JsonObject) -> None:
        self._converted[encode(missing.obj), missing.api_version] = converted


def _without_managers(obj: JsonObject) -> JsonObject:
    metadata = obj.get("metadata") or {}
    return {**obj, "metadata": {name: value for name, value in metadata.items() if name != "managedFields"}}

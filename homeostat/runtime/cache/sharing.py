"""Keeps equal parts of many objects in memory once.

A thousand Pods of one ReplicaSet have the same labels, owner and images, and a decoder creates all of them a thousand
times. If the type of a field is plain and frozen, the first value replaces all later equal ones.
Promises, each tested:

- an object is equal to itself before its parts were shared
- only identical values are shared: a field that may be 1 or true is not
- the number and the size of remembered values are bounded

Readers of a cache change nothing in it, so sharing has no effect on them. A dict of labels may belong to many objects.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import msgspec
from msgspec import inspect

from homeostat.objects.memory.pool import size_of

_MOST = 4096
_LARGEST = 1024
"""About the bytes of a value that is remembered."""
_PLAIN = (inspect.StrType, inspect.IntType, inspect.BoolType)
_UNIQUE = frozenset({"name", "uid", "resource_version", "creation_timestamp"})
"""Fields of the metadata that differ from object to object."""


class Sharing:
    """Shares parts of the objects of one struct, which has `metadata`."""

    def __init__(self, struct: type) -> None:
        fields, metadata_fields = _shared_fields(struct)
        self._parts = [_Part(each) for each in fields]
        self._metadata_parts = [_Part(each) for each in metadata_fields]

    def share(self, obj: Any) -> None:
        for part in self._parts:
            part.share(obj)
        metadata = obj.metadata
        for part in self._metadata_parts:
            part.share(metadata)


class _Part:
    """A field and its recent values."""

    __slots__ = ("_is_dict", "_name", "_values")

    def __init__(self, field: inspect.Field) -> None:
        self._name, self._is_dict = field.name, isinstance(field.type, inspect.DictType)
        self._values: dict[Any, Any] = {}

    def share(self, obj: Any) -> None:
        value = getattr(obj, self._name)
        if not value:
            return
        key = tuple(value.items()) if self._is_dict else value
        found = self._values.get(key)
        if found is not None:
            msgspec.structs.force_setattr(obj, self._name, found)
            return
        if size_of(key, _LARGEST) > _LARGEST:
            return
        if len(self._values) >= _MOST:
            self._values.clear()
        self._values[key] = value


@lru_cache(64)
def _shared_fields(struct: type) -> tuple[list[inspect.Field], list[inspect.Field]]:
    """The shared fields of the struct, and those of its metadata."""
    info = inspect.type_info(struct)
    assert isinstance(info, inspect.StructType)
    metadata = next((each.type for each in info.fields if each.name == "metadata"), None)
    inner = metadata.fields if isinstance(metadata, inspect.StructType) else ()
    return (
        [each for each in info.fields if each.name != "metadata" and _is_shared(each.type)],
        [each for each in inner if each.name not in _UNIQUE and _is_shared(each.type)],
    )


def _is_shared(info: inspect.Type) -> bool:
    if isinstance(info, inspect.DictType):
        return _is_plain(info.key_type, ()) and _is_plain(info.value_type, ())
    return _is_plain(info, ())


def _is_plain(info: inspect.Type, inside: tuple[type, ...]) -> bool:
    """Whether equal values of the type are interchangeable and hashable. Recursive types are not shared."""
    match info:
        case inspect.StructType():
            is_frozen = info.cls.__struct_config__.frozen and info.cls not in inside
            return is_frozen and all(_is_plain(each.type, (*inside, info.cls)) for each in info.fields)
        case inspect.VarTupleType():
            return _is_plain(info.item_type, inside)
        case inspect.UnionType():
            some = [each for each in info.types if not isinstance(each, inspect.NoneType)]
            return len(some) == 1 and _is_plain(some[0], inside)
    return isinstance(info, _PLAIN)

"""Equal parts of many objects, held once.

A thousand Pods of one ReplicaSet have the same labels, owner and images, and a decoder makes all of them a thousand
times. Where a struct says that a part of it is plain and frozen, the second one that comes is let go for the first.
Promises, each tested:

- an object that was shared is equal to what it was before
- only what cannot be told apart is shared: a field that may be 1 or true is left alone
- what is remembered has a bound, whatever comes

Whoever reads a cache changes nothing in it, so nobody can tell. A dict of labels may be that of many objects.
"""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import inspect

_MOST = 4096
_PLAIN = (inspect.StrType, inspect.IntType, inspect.BoolType)
_UNIQUE = frozenset({"name", "uid", "resource_version", "creation_timestamp"})
"""Of an object's metadata: no two have the same."""


class Sharing:
    """Of the objects of one struct, which has `metadata`."""

    def __init__(self, struct: type) -> None:
        told = inspect.type_info(struct)
        assert isinstance(told, inspect.StructType)
        metadata = next((each.type for each in told.fields if each.name == "metadata"), None)
        self._parts = [_Part(each) for each in told.fields if each.name != "metadata" and _is_shared(each.type)]
        self._metadata_parts = [
            _Part(each)
            for each in (metadata.fields if isinstance(metadata, inspect.StructType) else ())
            if each.name not in _UNIQUE and _is_shared(each.type)
        ]

    def share(self, obj: Any) -> None:
        for part in self._parts:
            part.share(obj)
        metadata = obj.metadata
        for part in self._metadata_parts:
            part.share(metadata)


class _Part:
    """One field, with the values that were seen of it lately."""

    __slots__ = ("_held", "_is_dict", "_name")

    def __init__(self, field: inspect.Field) -> None:
        self._name, self._is_dict = field.name, isinstance(field.type, inspect.DictType)
        self._held: dict[Any, Any] = {}

    def share(self, obj: Any) -> None:
        value = getattr(obj, self._name)
        if not value:
            return
        key = tuple(value.items()) if self._is_dict else value
        found = self._held.get(key)
        if found is not None:
            msgspec.structs.force_setattr(obj, self._name, found)
            return
        if len(self._held) >= _MOST:
            self._held.clear()
        self._held[key] = value


def _is_shared(told: inspect.Type) -> bool:
    if isinstance(told, inspect.DictType):
        return _is_plain(told.key_type, ()) and _is_plain(told.value_type, ())
    return _is_plain(told, ())


def _is_plain(told: inspect.Type, inside: tuple[type, ...]) -> bool:
    """Equal values of it are the same in every way, and can be looked up. What holds its own kind is left alone."""
    match told:
        case inspect.StructType():
            is_fit = told.cls.__struct_config__.frozen and told.cls not in inside
            return is_fit and all(_is_plain(each.type, (*inside, told.cls)) for each in told.fields)
        case inspect.VarTupleType():
            return _is_plain(told.item_type, inside)
        case inspect.UnionType():
            some = [each for each in told.types if not isinstance(each, inspect.NoneType)]
            return len(some) == 1 and _is_plain(some[0], inside)
    return isinstance(told, _PLAIN)

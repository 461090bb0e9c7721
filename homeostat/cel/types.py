"""The types of the language, and those that a host derives from a schema.

Sizes (`max_size`) belong to the estimate of cost, not to assignability, so they take no part in
equality. Object types compare by identity: they may refer to themselves and may be large.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from homeostat.cel.names import escape_field


@dataclass(frozen=True, slots=True)
class Type:
    """A type without parameters. `max_size` is the greatest length of a string or bytes, None where unknown."""

    name: str
    max_size: int | None = field(default=None, compare=False, kw_only=True)

    def limited(self, max_size: int | None) -> Type:
        return replace(self, max_size=max_size)

    def __str__(self) -> str:
        return self.name


BOOL = Type("bool")
INT = Type("int")
UINT = Type("uint")
DOUBLE = Type("double")
STRING = Type("string")
BYTES = Type("bytes")
TIMESTAMP = Type("timestamp")
DURATION = Type("duration")
NULL = Type("null")
DYN = Type("dyn")
ERROR = Type("!error!")
"""The type of a part with a reported issue. It is assignable to everything, so that one mistake gives one message."""


@dataclass(frozen=True, slots=True)
class ParamType(Type):
    """A type variable: `A` in `list(A)`."""


@dataclass(frozen=True, slots=True)
class OpaqueType(Type):
    """A type whose values only functions can look into: `kubernetes.Quantity`."""


@dataclass(frozen=True, slots=True)
class ListType(Type):
    """`set` and `map` lists compare without regard to order and are merged by `+`, as their list types in Kubernetes.

    A `map` list is keyed by `map_keys`.
    """

    name: str = field(default="list", init=False)
    element: Type = DYN
    list_type: Literal["atomic", "set", "map"] = field(default="atomic", compare=False, kw_only=True)
    map_keys: tuple[str, ...] = field(default=(), compare=False, kw_only=True)

    def __str__(self) -> str:
        return f"list({self.element})"


@dataclass(frozen=True, slots=True)
class MapType(Type):
    name: str = field(default="map", init=False)
    key: Type = DYN
    value: Type = DYN

    def __str__(self) -> str:
        return f"map({self.key}, {self.value})"


@dataclass(frozen=True, slots=True)
class OptionalType(Type):
    name: str = field(default="optional_type", init=False)
    value: Type = DYN

    def __str__(self) -> str:
        return f"optional_type({self.value})"


@dataclass(frozen=True, slots=True)
class TypeType(Type):
    """The type of a type: `type(1)` is of `type(int)`."""

    name: str = field(default="type", init=False)
    of: Type = DYN

    def __str__(self) -> str:
        return f"type({self.of})"


@dataclass(frozen=True, slots=True, eq=False)
class ObjectType(Type):
    """A JSON object with known members. A member that is null counts as absent, as in Kubernetes.

    `fields` holds the names as they stand in JSON; an expression writes them escaped (`__namespace__`, `a__dash__b`).
    A name that cannot be escaped cannot be reached. `fields` may be filled after construction, for recursive types,
    as long as that is before the first compilation.
    """

    fields: Mapping[str, Type] = field(default_factory=dict)
    required: frozenset[str] = frozenset()
    _by_identifier: dict[str, str] = field(default_factory=dict, init=False, repr=False)

    def member(self, identifier: str) -> str | None:
        """The JSON name behind an identifier of an expression."""
        if not self._by_identifier:
            escaped = ((escape_field(name), name) for name in self.fields)
            self._by_identifier.update((identifier, name) for identifier, name in escaped if identifier is not None)
        return self._by_identifier.get(identifier)

    __hash__ = object.__hash__


@dataclass(frozen=True, slots=True)
class StructType:
    """A type that expressions construct, `Name{field: value}`; `fields` None means any."""

    type: Type
    fields: Mapping[str, Type] | None = None


Structs = Callable[[str], StructType | None]

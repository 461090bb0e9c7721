"""Type inference: whether a type is assignable, and the values of type variables.

`dyn` fits everywhere and everything fits `dyn`; a variable that meets both a type and `dyn` becomes `dyn`, the more
general one. Null fits where a message, a timestamp, a duration or a host's value is wanted.
"""

from __future__ import annotations

from dataclasses import replace

from homeostat.cel.registry import Overload
from homeostat.cel.types import (
    DURATION,
    DYN,
    ERROR,
    NULL,
    TIMESTAMP,
    ListType,
    MapType,
    ObjectType,
    OpaqueType,
    OptionalType,
    ParamType,
    Type,
    TypeType,
)


class Inference:
    """The type variables bound so far in one expression."""

    def __init__(self) -> None:
        self.solved: dict[str, Type] = {}
        self._trail: list[tuple[str, Type | None]] = []
        self._count = 0

    def variable(self) -> Type:
        self._count += 1
        return ParamType(f"${self._count}")

    def instance(self, overload: Overload) -> tuple[tuple[Type, ...], Type]:
        """An overload's parameters and result with its variables made fresh."""
        self._count += 1
        suffix = f"${self._count}"
        return tuple(_renamed(each, suffix) for each in overload.params), _renamed(overload.result, suffix)

    def fits(self, wanted: Type, given: Type) -> bool:
        """Whether `given` is assignable to `wanted`; type variables are bound only if it is."""
        return self.all_fit((wanted,), [given])

    def all_fit(self, wanted: tuple[Type, ...], given: list[Type]) -> bool:
        self._trail.clear()
        if len(wanted) == len(given) and all(map(self._fits, wanted, given)):
            return True
        for name, known in reversed(self._trail):
            if known is None:
                del self.solved[name]
            else:
                self.solved[name] = known
        return False

    def _set(self, name: str, known: Type | None, type_: Type) -> None:
        self._trail.append((name, known))
        self.solved[name] = type_

    def resolve(self, type_: Type, *, final: bool = False) -> Type:
        """The type with its bound variables replaced; with `final`, unbound ones become `dyn`."""
        match type_:
            case ParamType():
                known = self.solved.get(type_.name)
                if known is not None:
                    return self.resolve(known, final=final)
                return DYN if final else type_
            case ListType():
                return replace(type_, element=self.resolve(type_.element, final=final))
            case MapType():
                key, value = self.resolve(type_.key, final=final), self.resolve(type_.value, final=final)
                return replace(type_, key=key, value=value)
            case OptionalType():
                return OptionalType(self.resolve(type_.value, final=final))
            case TypeType():
                return TypeType(self.resolve(type_.of, final=final))
            case _:
                return type_

    def join(self, left: Type, right: Type) -> Type | None:
        """The more general of two types that fit each other; None where they do not."""
        if self.fits(left, right):
            return self._general(left, right)
        if self.fits(right, left):
            return self._general(right, left)
        return None

    def _fits(self, wanted: Type, given: Type) -> bool:
        if wanted is given:
            return True
        if isinstance(wanted, ParamType):
            return self._solve(wanted, given)
        if isinstance(given, ParamType):
            return self._solve(given, wanted)
        if wanted in _ANY or given in _ANY:
            return True
        if given == NULL and (wanted in (TIMESTAMP, DURATION) or isinstance(wanted, ObjectType | OpaqueType)):
            return True
        match wanted, given:
            case ListType(), ListType():
                return self._fits(wanted.element, given.element)
            case MapType(), MapType():
                return self._fits(wanted.key, given.key) and self._fits(wanted.value, given.value)
            case OptionalType(), OptionalType():
                return self._fits(wanted.value, given.value)
            case TypeType(), TypeType():
                return True
            case _:
                return wanted == given

    def _solve(self, variable: ParamType, given: Type) -> bool:
        known = self.solved.get(variable.name)
        if known is not None:
            if not self._fits(known, given) and not self._fits(given, known):
                return False
            self._set(variable.name, known, self._general(known, given))
            return True
        given = self.resolve(given)
        if given == variable:
            return True
        if _occurs(variable, given):
            return False
        self._set(variable.name, None, given)
        return True

    def _general(self, left: Type, right: Type) -> Type:
        left, right = self.resolve(left), self.resolve(right)
        match left, right:
            case (ListType(), ListType()):
                return ListType(self._general(left.element, right.element), max_size=_larger(left, right))
            case (MapType(), MapType()):
                key, value = self._general(left.key, right.key), self._general(left.value, right.value)
                return MapType(key, value, max_size=_larger(left, right))
            case (OptionalType(), OptionalType()):
                return OptionalType(self._general(left.value, right.value))
            case _ if right in _ANY or left == NULL or isinstance(left, ParamType):
                return right
            case _ if left == right and left.max_size != right.max_size and not isinstance(left, ObjectType):
                return left.limited(_larger(left, right))
            case _:
                return left


_ANY = (DYN, ERROR)


def _larger(left: Type, right: Type) -> int | None:
    if left.max_size is None or right.max_size is None:
        return None
    return max(left.max_size, right.max_size)


def _renamed(type_: Type, suffix: str) -> Type:
    match type_:
        case ParamType():
            return ParamType(type_.name + suffix)
        case ListType():
            return ListType(_renamed(type_.element, suffix))
        case MapType():
            return MapType(_renamed(type_.key, suffix), _renamed(type_.value, suffix))
        case OptionalType():
            return OptionalType(_renamed(type_.value, suffix))
        case TypeType():
            return TypeType(_renamed(type_.of, suffix))
        case _:
            return type_


def _occurs(variable: ParamType, type_: Type) -> bool:
    match type_:
        case ListType():
            return _occurs(variable, type_.element)
        case MapType():
            return _occurs(variable, type_.key) or _occurs(variable, type_.value)
        case OptionalType():
            return _occurs(variable, type_.value)
        case _:
            return type_ == variable

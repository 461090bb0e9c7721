"""Spans: what a piece of work was, how long it took, what it was a part of.

    with tracer.span("reconcile", controller="images") as span:
        with tracer.span("observe"):
            ...

A span inside another is its child, also across tasks that are started within. Promises, each tested:

- switched off, a span costs one call and leaves nothing behind
- whether a trace is kept is drawn once, before any span of it is made, and holds for all its spans
- an error that leaves a span is recorded on it and goes on its way; being cancelled is no error

It knows nothing of OpenTelemetry: the caller passes how a span is begun.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from contextvars import ContextVar, Token
from types import TracebackType
from typing import Protocol, Self

Attribute = str | bool | int | float
Attributes = Mapping[str, Attribute]


class Span(Protocol):
    def __enter__(self) -> Span: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...

    def set(self, **attributes: Attribute) -> None: ...

    def record_error(self, error: Exception) -> None:
        """For one that does not leave the span."""


class Record(Protocol):
    """A span that was begun somewhere and is to be ended there."""

    def set(self, attributes: Attributes) -> None: ...

    def fail(self, error: Exception) -> None: ...

    def end(self) -> None: ...


Begin = Callable[[str, Attributes, Record | None], Record]
"""Begins a span inside the parent, which is None for the first of a trace."""


class Tracer:
    """Without `begin` it is off. `ratio` is the share of the traces that is kept."""

    def __init__(
        self, begin: Begin | None = None, *, ratio: float = 1.0, chance: Callable[[], float] = random.random
    ) -> None:
        self._begin, self._ratio, self._chance = begin, ratio, chance

    @property
    def is_on(self) -> bool:
        return self._begin is not None

    def span(self, name: str, /, **attributes: Attribute) -> Span:
        begin = self._begin
        if begin is None:
            return SILENT
        parent = _current.get()
        if parent is SILENT:
            return SILENT
        if parent is None and self._chance() >= self._ratio:
            return _LeftOut()
        return _Recorded(begin, name, attributes)


class _Silent:
    """A span of which nothing is kept; there is one for all."""

    __slots__ = ()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        pass

    def set(self, **attributes: Attribute) -> None:
        pass

    def record_error(self, error: Exception) -> None:
        pass


SILENT = _Silent()


class _LeftOut(_Silent):
    """The first span of a trace that is not kept: those inside must know."""

    __slots__ = ("_token",)

    def __enter__(self) -> Self:
        self._token = _current.set(SILENT)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        _current.reset(self._token)


class _Recorded:
    __slots__ = ("_attributes", "_begin", "_name", "_token", "record")

    record: Record
    _token: Token[_Recorded | _Silent | None]

    def __init__(self, begin: Begin, name: str, attributes: Attributes) -> None:
        self._begin, self._name, self._attributes = begin, name, attributes

    def __enter__(self) -> Self:
        parent = _current.get()
        self.record = self._begin(
            self._name, self._attributes, parent.record if isinstance(parent, _Recorded) else None
        )
        self._token = _current.set(self)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        _current.reset(self._token)
        if isinstance(error, Exception):
            self.record.fail(error)
        self.record.end()

    def set(self, **attributes: Attribute) -> None:
        self.record.set(attributes)

    def record_error(self, error: Exception) -> None:
        self.record.fail(error)


_current: ContextVar[_Recorded | _Silent | None] = ContextVar("homeostat_span", default=None)

OFF = Tracer()

"""Spans: a piece of work, its duration, and the work that it is a part of.

    with tracer.span("reconcile", controller="images") as span:
        with tracer.span("observe"):
            ...

A span inside another one is its child, also in tasks that are started inside. Promises, each tested:

- if tracing is off, a span costs one call and stores nothing
- a trace is sampled as a whole, before its first span is created
- an error that leaves a span is recorded on it and raised on; a cancellation is not an error

It does not depend on OpenTelemetry: the caller passes a function that begins a span.
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
        """Records an error that does not leave the span."""


class Record(Protocol):
    """A span of an exporter."""

    def set(self, attributes: Attributes) -> None: ...

    def fail(self, error: Exception) -> None: ...

    def end(self) -> None: ...


Begin = Callable[[str, Attributes, Record | None], Record]
"""Begins a span inside the parent, which is None for the first of a trace."""


class Tracer:
    """Without `begin` it is off. `ratio` is the share of traces that is sampled."""

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
            return _NotSampled()
        return _Recorded(begin, name, attributes)


class _Silent:
    """A span that stores nothing; there is one instance."""

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


class _NotSampled(_Silent):
    """The first span of a trace that is not sampled. Spans inside see that and are silent, too."""

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

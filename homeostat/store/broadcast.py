"""Delivers each change to the subscribers of its scope, in the event loop, at its commit.

Subscribers are found by resource, by namespace and by name, so a subscriber of another scope costs nothing. A
subscriber may close itself or others during a delivery. A closed one is not called again.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence

from homeostat.store.base import Deliver, Event, Flush, Scope

_log = logging.getLogger(__name__)


class Listener:
    """A subscription. Closing it twice is harmless."""

    __slots__ = ("_broadcast", "deliver", "flush", "is_open", "scope")

    def __init__(self, broadcast: Broadcast, scope: Scope, deliver: Deliver, flush: Flush | None) -> None:
        self._broadcast, self.scope = broadcast, scope
        self.deliver, self.flush = deliver, flush
        self.is_open = True

    def close(self) -> None:
        if self.is_open:
            self.is_open = False
            self._broadcast.remove(self.scope, self)


class Broadcast:
    __slots__ = ("_calls", "_listeners")

    def __init__(self) -> None:
        self._listeners: dict[tuple[str, str, str], dict[Listener, None]] = {}
        self._calls: dict[tuple[str, str, str], tuple[Listener, ...]] = {}

    def add(self, scope: Scope, deliver: Deliver, flush: Flush | None = None) -> Listener:
        listener = Listener(self, scope, deliver, flush)
        self._listeners.setdefault(scope, {})[listener] = None
        self._calls.pop(scope, None)
        return listener

    def remove(self, scope: Scope, listener: Listener) -> None:
        listeners = self._listeners[scope]
        del listeners[listener]
        self._calls.pop(scope, None)
        if not listeners:
            del self._listeners[scope]

    def publish(self, events: Sequence[Event]) -> None:
        """Deliver the events of one commit."""
        if not self._listeners:
            return
        delivered: dict[Listener, None] = {}
        for event in events:
            resource, namespace, name = event.record.key
            self._call((resource, "", ""), event, delivered)
            if namespace:
                self._call((resource, namespace, ""), event, delivered)
            self._call((resource, namespace, name), event, delivered)
        for listener in delivered:
            if listener.is_open and listener.flush is not None:
                try:
                    listener.flush()
                except Exception:
                    self._close_failed(listener)

    def _call(self, scope: tuple[str, str, str], event: Event, delivered: dict[Listener, None]) -> None:
        calls = self._calls.get(scope)
        if calls is None:
            if scope not in self._listeners:
                return
            calls = self._calls[scope] = tuple(self._listeners[scope])
        for listener in calls:
            if listener.is_open:
                try:
                    listener.deliver(event)
                except Exception:
                    self._close_failed(listener)
                else:
                    delivered[listener] = None

    def _close_failed(self, listener: Listener) -> None:
        """An error of one reader must not affect other readers or the writer."""
        _log.exception("subscriber failed; closing it", extra={"scope": listener.scope})
        listener.close()

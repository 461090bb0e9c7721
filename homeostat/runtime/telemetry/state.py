"""The state of the operators of a process, for people: queues, watches, times and errors as they are. Pure data."""

from __future__ import annotations

from collections.abc import Callable

import msgspec


class WatchState(msgspec.Struct, frozen=True, kw_only=True):
    path: str
    state: str
    """streaming, listing, watching or waiting."""
    age_s: float
    """Since the last event or bookmark."""
    objects: int
    restarts: int
    relists: int
    unreadable: int
    trouble: str = ""


class Failing(msgspec.Struct, frozen=True):
    """An object whose last reconciliation failed, and why."""

    object: str
    reason: str


class ControllerState(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    depth: int = 0
    delayed: int = 0
    working: int = 0
    oldest_wait_s: float = 0.0
    retries: int = 0
    trips: int = 0
    """Turns put off for objects that do not settle."""
    outcomes: dict[str, int] = {}
    """Reconciles by outcome."""
    mean_s: float = 0.0
    slowest_s: float = 0.0
    """At most so long took 99 of 100 reconciles; infinite beyond the largest bound."""
    failing: int = 0
    failures: tuple[Failing, ...] = ()
    """The first of them."""


class OperatorState(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    is_awake: bool = True
    is_paused: bool = False
    is_leading: bool = False
    identity: str = ""
    leader: str = ""
    """The holder of the Lease; empty without leader election."""
    troubles: tuple[str, ...] = ()
    controllers: tuple[ControllerState, ...] = ()
    watches: tuple[WatchState, ...] = ()


ReadStates = Callable[[], list[OperatorState]]

"""A priority level: how many of its calls run at once, and how further ones wait.

Use it as a `Lane`: if `enter` is False, await `turn`; in both cases call `leave` at the end. A level has seats of its
own, and shares others with all levels (`Lent`). Calls that wait are in a queue for each flow, and the flows take
turns: so a flow of many calls delays each of the others by one call at most. Kubernetes deals the flows of a level to
a fixed number of queues instead; here a flow may have as many waiting calls as the queues of its hand.
"""

from __future__ import annotations

import asyncio
from collections import Counter, OrderedDict
from math import inf
from typing import Final

import msgspec

from homeostat.objects.errors import TooManyRequestsError
from homeostat.objects.json import JsonObject
from homeostat.server.kinds.builtins.members import integer, struct, text

MOST_WAIT_S: Final = 15.0
MOST_WAITING_IN_LEVEL: Final = 10_000
"""Whatever the level says: each has a request in memory."""
FlowKey = tuple[str, str]
"""The name of a FlowSchema, and what it tells flows apart by."""
_Place = asyncio.Future[bool]
"""Whether its call got a seat; otherwise it waited too long."""


class LevelSpec(msgspec.Struct, frozen=True, gc=False):
    """What a PriorityLevelConfiguration says."""

    is_exempt: bool = False
    shares: int = 0
    lendable_percent: int = 0
    borrowing_percent: int | None = None
    """None: it may borrow all that others lend."""
    most_waiting: int = 0
    """0: calls are rejected instead."""
    most_waiting_of_flow: int = 0


def level_spec_of(obj: JsonObject) -> LevelSpec:
    spec = struct(obj, "spec")
    is_exempt = text(spec, "type") == "Exempt"
    limits = struct(spec, "exempt" if is_exempt else "limited")
    queuing = struct(limits, "limitResponse", "queuing")
    length = integer(queuing, "queueLengthLimit")
    borrowing = limits.get("borrowingLimitPercent")
    return LevelSpec(
        is_exempt=is_exempt,
        shares=integer(limits, "nominalConcurrencyShares"),
        lendable_percent=integer(limits, "lendablePercent"),
        borrowing_percent=borrowing if isinstance(borrowing, int) else None,
        most_waiting=min(integer(queuing, "queues") * length, MOST_WAITING_IN_LEVEL),
        most_waiting_of_flow=integer(queuing, "handSize") * length,
    )


class Lent:
    """The seats that levels lend one another.

    One that is left goes to the level that has the smallest part of its own nominal seats, of those that wait.
    """

    __slots__ = ("free", "waiting")

    def __init__(self) -> None:
        self.free = 0
        """Those that nobody uses. Below zero after a change that left too few, until calls end."""
        self.waiting: dict[Level, None] = {}
        """The levels with calls that wait."""

    def dispatch(self) -> None:
        """Give the free seats, own and lent ones, to calls that wait."""
        while able := [each for each in self.waiting if each.has_seat]:
            min(able, key=lambda each: each.use).admit_next()


class Level:
    __slots__ = ("_flows", "_lent", "lower", "name", "nominal", "rejected", "running", "spec", "upper", "waiting")

    def __init__(self, name: str, lent: Lent) -> None:
        self.name, self._lent = name, lent
        self.spec = LevelSpec()
        self.lower = self.nominal = self.upper = 0
        """Its own seats, those with the ones that it lends, and those with the ones that it may borrow."""
        self.running = self.waiting = 0
        self.rejected: Counter[tuple[str, str]] = Counter()
        """By FlowSchema and reason."""
        self._flows: OrderedDict[FlowKey, OrderedDict[_Place, None]] = OrderedDict()
        """The places of those that wait; the next flow is the first."""

    @property
    def has_seat(self) -> bool:
        return self.running < self.lower or (self.running < self.upper and self._lent.free > 0)

    @property
    def use(self) -> float:
        """The part of its nominal seats that is used."""
        return self.running / self.nominal if self.nominal else inf

    def enter(self) -> bool:
        if self.running >= self.lower:
            if not self.has_seat:
                return False
            self._lent.free -= 1
        self.running += 1
        return True

    def leave(self) -> None:
        self.running -= 1
        if self.running >= self.lower:
            self._lent.free += 1
        if self._lent.waiting:
            self._lent.dispatch()

    async def turn(self, flow: FlowKey) -> None:
        """Wait for a seat; `TooManyRequestsError` if too many wait already, or if it takes too long."""
        places = self._flows.get(flow)
        if not self.spec.most_waiting:
            raise self._reject(flow, "concurrency-limit")
        if self.waiting >= self.spec.most_waiting or len(places or ()) >= self.spec.most_waiting_of_flow:
            raise self._reject(flow, "queue-full")
        if places is None:
            places = self._flows[flow] = OrderedDict()
        loop = asyncio.get_running_loop()
        place: _Place = loop.create_future()
        places[place] = None
        self.waiting += 1
        self._lent.waiting[self] = None
        timer = loop.call_later(MOST_WAIT_S, self._time_out, flow, place)
        try:
            has_seat = await place
        except asyncio.CancelledError:
            if place.cancelled():
                self._forget(flow, place)
            elif place.result():
                self.leave()
            raise
        finally:
            timer.cancel()
        if not has_seat:
            # Raised here: an error in the future would keep this frame, and with it the request.
            raise self._reject(flow, "time-out")

    def admit_next(self) -> None:
        """Give a seat, which must be free, to the call whose turn it is."""
        flow, places = next(iter(self._flows.items()))
        place = next(iter(places))
        self._forget(flow, place)
        if flow in self._flows:
            self._flows.move_to_end(flow)
        if not place.done() and self.enter():
            place.set_result(True)

    def _forget(self, flow: FlowKey, place: _Place) -> None:
        places = self._flows.get(flow)
        if places is None or place not in places:
            return  # Its turn came before the cancellation arrived.
        del places[place]
        self.waiting -= 1
        if not places:
            del self._flows[flow]
        if not self.waiting:
            self._lent.waiting.pop(self, None)

    def _time_out(self, flow: FlowKey, place: _Place) -> None:
        if not place.done():
            self._forget(flow, place)
            place.set_result(False)

    def _reject(self, flow: FlowKey, reason: str) -> TooManyRequestsError:
        self.rejected[flow[0], reason] += 1
        return TooManyRequestsError(
            f'too many requests of priority level "{self.name}" at once ({reason}); try again later', retry_after_s=1
        )

"""A closed loop: as many callers as connections, each sending its next request when the last is answered."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterable
from time import perf_counter

import click

from benchmarks.connection import Answer, Connection

MOST_SECONDS = 600.0


class UnexpectedAnswerError(click.ClickException):
    """The server did not do what the phase is about, so its figures would be of something else. Ends the command."""


async def drive(connections: Collection[Connection], requests: Iterable[bytes], *, expect: int) -> list[float]:
    """Send all requests and return how long each took, in seconds."""
    loop = _Loop(requests, expect, len(connections))
    for connection in connections:
        loop.begin(connection)
    try:
        await asyncio.wait_for(loop.done, MOST_SECONDS)
    except TimeoutError:
        raise UnexpectedAnswerError(
            f"the server answered {len(loop.taken):,} requests of a phase in {MOST_SECONDS:g} s and did not get to the"
            " last; measure fewer objects, or on a machine with less to do"
        ) from None
    return loop.taken


class _Loop:
    def __init__(self, requests: Iterable[bytes], expect: int, callers: int) -> None:
        self.taken: list[float] = []
        self.done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._source = iter(requests)
        self._expect = expect
        self._busy = callers

    def begin(self, connection: Connection) -> None:
        began = 0.0

        def send() -> None:
            nonlocal began
            request = next(self._source, None)
            if request is None:
                self._leave()
                return
            began = perf_counter()
            connection.send(request)

        def answered(answer: Answer) -> None:
            self.taken.append(answer.at - began)
            if answer.status == self._expect:
                send()
            else:
                text = answer.body[:300].decode(errors="replace")
                self._fail(f"expected {self._expect}, got {answer.status}: {text}")

        connection.answered = answered
        connection.lost = lambda: self._fail("the server hung up")
        send()

    def _leave(self) -> None:
        self._busy -= 1
        if not self._busy and not self.done.done():
            self.done.set_result(None)

    def _fail(self, why: str) -> None:
        if not self.done.done():
            self.done.set_exception(UnexpectedAnswerError(why))

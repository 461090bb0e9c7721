"""Receives responses a piece at a time for clients on aiohttp, so that no server that they call can hold the event
loop or fill the memory.

aiohttp parses whatever one read of the socket brought, up to 256 KiB, at once: as chunks of one byte that is 95 ms. And
it keeps every interim response (1xx) until somebody reads it: a server that sent nothing else for 5 s held the loop for
1.2 s and took 190 MiB. Here a read is parsed in slices, all responses together in bounded turns, and interim responses
are dropped and counted.
"""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING, Any, Final, cast

import aiohttp
from aiohttp.client_proto import ResponseHandler
from aiohttp.http_exceptions import HttpProcessingError

from homeostat.edge.connection.turns import Turns

if TYPE_CHECKING:
    from aiohttp.http import RawResponseMessage
    from aiohttp.streams import StreamReader

_SLICE: Final = 16 * 1024
MOST_INTERIM: Final = 100
"""Interim responses to one request."""
_turns: dict[asyncio.AbstractEventLoop, Turns] = {}


def turns_of(loop: asyncio.AbstractEventLoop) -> Turns:
    """Those that all responses share which arrive on the event loop, whoever asked for them."""
    found = _turns.get(loop)
    if found is None:
        for closed in [each for each in _turns if each.is_closed()]:
            del _turns[closed]
        found = _turns[loop] = Turns(loop)
    return found


class TooManyInterimError(HttpProcessingError):
    """The server sends interim responses and no other."""


class PacedConnector(aiohttp.TCPConnector):
    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self._factory = cast("partial[ResponseHandler]", partial(PacedHandler, loop=self._loop))


class PacedHandler(ResponseHandler):
    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(loop)
        self._turns = turns_of(loop)
        self._unparsed = b""
        self._interim = 0

    def set_response_params(self, **params: Any) -> None:
        self._interim = 0
        super().set_response_params(**params)

    @property
    def should_close(self) -> bool:
        # What follows a response must not be taken for the answer to the next request.
        return bool(self._unparsed) or super().should_close

    def data_received(self, data: bytes) -> None:
        if not data:
            # The reader goes on; what the parser itself has kept comes before what waits here.
            super().data_received(data)
        elif self._unparsed:
            self._unparsed += data
        elif self._turns.is_over():
            self._wait(data)
        else:
            self._parse(data)

    def connection_lost(self, exc: BaseException | None) -> None:
        rest, self._unparsed = self._unparsed, b""
        if rest:
            super().data_received(rest)
        super().connection_lost(exc)

    def feed_data(self, data: tuple[RawResponseMessage, StreamReader], size: int = 0) -> None:
        if not 100 <= data[0].code < 200 or data[0].code == 101:
            super().feed_data(data, size)
            return
        self._interim += 1
        if self._interim == MOST_INTERIM + 1:
            self.set_exception(TooManyInterimError(code=400, message="too many interim responses"))
            if self.transport is not None:
                self.transport.abort()

    def take_turn(self) -> None:
        rest, self._unparsed = self._unparsed, b""
        self._parse(rest)
        if not (self._unparsed or self._reading_paused or self._buffer_paused):
            self._resume_transport_reading()

    def _parse(self, data: bytes) -> None:
        for at in range(0, len(data), _SLICE):
            if self._interim > MOST_INTERIM:
                return
            if at and self._turns.is_over():
                self._wait(data[at:])
                return
            super().data_received(data[at : at + _SLICE])

    def _wait(self, data: bytes) -> None:
        self._unparsed = data
        self._pause_transport_reading()
        self._turns.add(self)

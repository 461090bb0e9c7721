"""Receives responses a piece at a time for clients on aiohttp, so that no server that they call can hold the event
loop or fill the memory.

aiohttp parses whatever one read of the socket brought, up to 256 KiB, at once: as chunks of one byte that is 95 ms. And
it keeps every interim response (1xx) until somebody reads it: a server that sent nothing else for 5 s held the loop for
1.2 s and took 190 MiB. A reader that goes on has the parser do the rest of its work at once, and says so again for each
piece: 32 responses in chunks of one byte took 131 ms. Here a read is parsed in slices, all responses together in
bounded turns, also when a reader goes on and when a connection ends, and interim responses are dropped and counted.
"""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING, Any, Final, cast

import aiohttp
from aiohttp.client_proto import ResponseHandler
from aiohttp.http_exceptions import HttpProcessingError

from homeostat.edge.connection.turns import turns_of

if TYPE_CHECKING:
    from aiohttp.http import RawResponseMessage
    from aiohttp.streams import StreamReader

_SLICE: Final = 16 * 1024
MOST_INTERIM: Final = 100
"""Interim responses to one request."""


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
        self._is_queued = False
        self._end: tuple[BaseException | None] | None = None
        """That the connection is lost, while what arrived before is not parsed yet."""
        self._interim = 0

    def set_response_params(self, **params: Any) -> None:
        self._interim = 0
        super().set_response_params(**params)

    @property
    def should_close(self) -> bool:
        # What follows a response must not be taken for the answer to the next request.
        return bool(self._unparsed) or super().should_close

    def data_received(self, data: bytes) -> None:
        """Without data the reader goes on: what the parser itself has kept comes before what waits here."""
        if self._is_queued:
            self._unparsed += data
        elif self._unparsed or self._turns.is_over():
            self._unparsed += data
            self._queue()
        else:
            self._parse(data)

    def connection_lost(self, exc: BaseException | None) -> None:
        if self.transport is None:
            # It was closed here, so nobody reads on.
            self._unparsed, self._is_queued = b"", False
        if self._unparsed or self._is_queued:
            self._end = (exc,)
        else:
            super().connection_lost(exc)

    def resume_reading(self, resume_parser: bool = True) -> None:
        # The reader says so for each piece, of which a response of tiny chunks has very many.
        if self._reading_paused:
            super().resume_reading(resume_parser)

    def close(self) -> None:
        super().close()
        self._discard()

    def abort(self) -> None:
        super().abort()
        self._discard()

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
        if not self._is_queued:
            return
        self._is_queued = False
        rest, self._unparsed = self._unparsed, b""
        self._parse(rest)
        if self._is_queued or self._unparsed:
            return
        if self._end is not None:
            self._conclude()
        elif not (self._reading_paused or self._buffer_paused):
            self._resume_transport_reading()

    def _parse(self, data: bytes) -> None:
        """As much as the turn has time for. Without data, what the parser has kept."""
        for at in range(0, len(data) or 1, _SLICE):
            if self._interim > MOST_INTERIM:
                return
            if at and (self._reading_paused or self._turns.is_over()):
                self._unparsed = data[at:]
                self._pause_transport_reading()
                if not self._reading_paused:
                    self._queue()
                return
            super().data_received(data[at : at + _SLICE])

    def _queue(self) -> None:
        self._is_queued = True
        self._pause_transport_reading()
        self._turns.add(self)

    def _resume_transport_reading(self) -> None:
        if not (self._is_queued or self._unparsed):
            super()._resume_transport_reading()

    def _discard(self) -> None:
        self._unparsed, self._is_queued = b"", False
        if self._end is not None:
            self._conclude()

    def _conclude(self) -> None:
        assert self._end is not None
        (error,), self._end = self._end, None
        super().connection_lost(error)

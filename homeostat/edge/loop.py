"""Chooses the event loop: uvloop where it is installed, because it halves the CPU time of a request under TLS.

An event loop logs a warning for each write after a peer has left, so a client that pipelines requests and leaves would
fill the log: sixty lines for each connection. Those warnings are dropped.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

T = TypeVar("T")

_PEER_LEFT = frozenset({"SSL connection is closed", "socket.send() raised exception."})


def _is_worth_logging(record: logging.LogRecord) -> bool:
    return record.msg not in _PEER_LEFT


def loop_factory() -> Callable[[], asyncio.AbstractEventLoop]:
    logging.getLogger("asyncio").addFilter(_is_worth_logging)
    try:
        from homeostat.edge.tls.loop import Loop
    except ImportError:
        return asyncio.new_event_loop
    return Loop


def run(main: Coroutine[Any, Any, T]) -> T:
    with asyncio.Runner(loop_factory=loop_factory()) as runner:
        return runner.run(main)

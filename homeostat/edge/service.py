"""What all connections of one server share."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable

from homeostat.edge.limits import Limits
from homeostat.edge.metrics.counters import Counters
from homeostat.edge.reply import Reply, StreamReply
from homeostat.edge.request import Request

log = logging.getLogger(__name__)

Answer = Reply | StreamReply
Handler = Callable[[Request], Answer | Awaitable[Answer]]
"""An answer given at once is written at once. An awaitable gets a task, unless it is one or a future; it is the
connection's from then on, and cancelled if the peer goes away."""
Refuse = Callable[[int, str], Reply]
"""Words an error of the protocol, or of a handler that raised, in the owner's format."""


def plain_refusal(status: int, message: str) -> Reply:
    return Reply(status, message.encode() + b"\n", "text/plain; charset=utf-8")


class Service:
    __slots__ = ("counters", "handler", "is_stopping", "limits", "loop", "refuse", "tasks")

    def __init__(self, handler: Handler, limits: Limits, refuse: Refuse) -> None:
        self.handler = handler
        self.limits = limits
        self.refuse = refuse
        self.loop = asyncio.get_running_loop()
        self.counters = Counters()
        self.is_stopping = False
        self.tasks: set[asyncio.Future[Answer]] = set()
        """Requests being worked on; held here so that none is lost and `stop` can wait for all."""

    def failure(self, request: Request) -> Reply:
        """The answer to a request whose handler just raised; the error goes to the log and not to the peer."""
        self.counters.failed += 1
        log.exception("request failed", extra={"method": request.method, "path": request.path})
        return self.refusal(500, "internal error")

    def refusal(self, status: int, message: str) -> Reply:
        try:
            return self.refuse(status, message)
        except Exception:
            log.exception("failed to build error response", extra={"status": status})
            return plain_refusal(status, message)

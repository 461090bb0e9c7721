"""What all connections of one server share: handler, limits, counters and running requests."""

from __future__ import annotations

import asyncio
import logging

from homeostat.edge.connection.memory import Bodies, Unread
from homeostat.edge.connection.turns import Turns
from homeostat.edge.handler import Answer, Handler, Refuse, plain_refusal
from homeostat.edge.ids import RequestIds
from homeostat.edge.limits import Limits
from homeostat.edge.metrics.counters import Counters
from homeostat.edge.reply import Reply
from homeostat.edge.request import Request

log = logging.getLogger(__name__)


class Service:
    __slots__ = (
        "bodies",
        "counters",
        "handler",
        "ids",
        "is_stopping",
        "limits",
        "loop",
        "refuse",
        "tasks",
        "turns",
        "unread",
    )

    def __init__(self, handler: Handler, limits: Limits, refuse: Refuse, ids: RequestIds | None = None) -> None:
        self.handler = handler
        self.limits = limits
        self.refuse = refuse
        self.ids = ids
        self.loop = asyncio.get_running_loop()
        self.turns = Turns(self.loop)
        self.bodies = Bodies(limits.bodies_bytes)
        self.unread = Unread(limits.unread_bytes, self.loop)
        self.counters = Counters()
        self.is_stopping = False
        self.tasks: set[asyncio.Future[Answer]] = set()
        """Running requests: kept here so that none is garbage-collected and `stop` can wait for all."""

    def failure(self, request: Request) -> Reply:
        """The response to a request whose handler just raised. The error is logged and not sent to the client."""
        self.counters.failed += 1
        log.exception("request failed", extra={"method": request.method, "path": request.path, "request": request.id})
        return self.refusal(500, f"internal error in request {request.id}" if request.id else "internal error")

    def refusal(self, status: int, message: str) -> Reply:
        try:
            return self.refuse(status, message)
        except Exception:
            log.exception("failed to build error response", extra={"status": status})
            return plain_refusal(status, message)

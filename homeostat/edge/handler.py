"""The function that answers the requests of a server, and the one that formats its errors."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from homeostat.edge.reply import Reply, StreamReply
from homeostat.edge.request import Request

Answer = Reply | StreamReply
Handler = Callable[[Request], Answer | Awaitable[Answer]]
"""A handler returns an answer, which is written at once, or an awaitable of one. The connection runs the awaitable in a
task and cancels it if the client disconnects."""
Refuse = Callable[[int, str], Reply]
"""Formats an error of the protocol, or of a handler that raised, as the owner of the server wants it."""


def plain_refusal(status: int, message: str) -> Reply:
    return Reply(status, message.encode() + b"\n", "text/plain; charset=utf-8")

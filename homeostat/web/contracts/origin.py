"""Which web pages may call the API: its own and those of one configured origin.

A page of another site can have a browser send requests. It cannot read the responses, since they do not allow its
origin, and what would change something is refused with 403.
"""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Final

import msgspec

from homeostat.edge.handler import Answer, Handler
from homeostat.edge.reply import Fields, Reply
from homeostat.edge.request import Request
from homeostat.web.kit.refusal import forbidden, refusal_reply
from homeostat.web.kit.sessions.cookie import is_own_page

_READING: Final = frozenset({"GET", "HEAD"})
_SAFE: Final[Fields] = (("X-Content-Type-Options", "nosniff"), ("Vary", "Origin"))
_PREFLIGHT: Final[Fields] = (
    ("Access-Control-Allow-Methods", "GET, POST"),
    ("Access-Control-Allow-Headers", "Authorization, Content-Type"),
    ("Access-Control-Max-Age", "600"),
)


def guarded(app: Handler, *, origin: str) -> Handler:
    """`origin` is the one that is allowed beside the app's own; empty for none."""

    async def handle(request: Request) -> Answer:
        given = request.headers.get("origin", "").lower()
        is_allowed = bool(origin) and given == origin
        headers = (*_SAFE, ("Access-Control-Allow-Origin", origin)) if is_allowed else _SAFE
        if request.method == "OPTIONS":
            if is_allowed:
                return Reply(204, headers=(*headers, *_PREFLIGHT))
            return refusal_reply(forbidden("pages of other origins may not call this server"))
        if request.method not in _READING and not (is_allowed or is_own_page(request)):
            return refusal_reply(forbidden("pages of other origins may not change anything here"))
        answer = app(request)
        found = await answer if isinstance(answer, Awaitable) else answer
        return msgspec.structs.replace(found, headers=(*found.headers, *headers))

    return handle

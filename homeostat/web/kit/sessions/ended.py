"""The sessions that were ended before their time, shared by all replicas.

They are one private secret, which each process reads again every `RECHECK_S`: an ended session is refused here at once,
elsewhere within that time, and also after a restart. A session is listed until it would have expired by itself.

The list is limited. Of a user with more than `MOST_OF_USER` ended sessions, all that began before the newest of the
dropped ones count as ended; beyond `MOST_IN_ALL` that is so for everybody. So a full list signs people out, and never
lets an ended session in again.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from hashlib import sha256
from typing import Final

import msgspec
from msgspec.structs import replace

from homeostat.objects.errors import InternalError, UnavailableError
from homeostat.runtime.faces.private import PrivateSecrets

RECHECK_S: Final = 2.0
MOST_OF_USER: Final = 32
MOST_IN_ALL: Final = 2048
_NAME: Final = "dashboard-ended-sessions"
_ATTEMPTS: Final = 20
_EVERYBODY: Final = ""


class Session(msgspec.Struct, frozen=True, array_like=True):
    """One login of a browser. Times are seconds since 1970."""

    id: str
    user: str
    began: float
    expires: float
    token: str


class Ended(msgspec.Struct, frozen=True, array_like=True):
    user: str
    """A digest of the name, which may be long."""
    began: float
    expires: float
    id: str = ""
    """Empty for all sessions of the user that began up to then."""


class EndedSessions:
    """`now` returns the wall clock, `clock` counts seconds."""

    def __init__(
        self,
        private: PrivateSecrets,
        *,
        now: Callable[[], float] = time.time,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._private, self._now, self._clock = private, now, clock
        self._stored: bytes | None = None
        self._ids: set[str] = set()
        self._floors: dict[str, float] = {}
        self._fresh_until = float("-inf")

    async def has(self, session: Session) -> bool:
        if self._fresh_until <= self._clock():
            await self._refresh()
        floor = max(self._floors.get(_EVERYBODY, 0.0), self._floors.get(_digest(session.user), 0.0))
        return session.id in self._ids or session.began <= floor

    async def add(self, session: Session) -> None:
        """`UnavailableError` if others write all the time."""
        ended = Ended(_digest(session.user), session.began, session.expires, session.id)
        await self._refresh()
        for attempt in range(_ATTEMPTS):
            old = self._stored
            listed = [] if old is None else _decoded(old)
            new = msgspec.json.encode(limited([*listed, ended], self._now()))
            held = await (self._private.create(_NAME, new) if old is None else self._private.replace(_NAME, old, new))
            self._read(held, since=old)
            if held == new:
                return
            await asyncio.sleep(0.01 * attempt)
        raise UnavailableError("cannot end the session: too many others end now; try again")

    async def _refresh(self) -> None:
        known = self._stored
        self._read(await self._private.read(_NAME), since=known)

    def _read(self, stored: bytes | None, *, since: bytes | None) -> None:
        """`since` is what was known when it was asked for."""
        if self._stored != since:
            # The list changed here meanwhile, so this one may be older: it lacks a session that was just ended.
            return
        self._fresh_until = self._clock() + RECHECK_S
        if stored == self._stored:
            return
        listed = [] if stored is None else _decoded(stored)
        self._ids = {each.id for each in listed if each.id}
        self._floors = {each.user: each.began for each in sorted(listed, key=lambda each: each.began) if not each.id}
        self._stored = stored


def _decoded(stored: bytes) -> list[Ended]:
    try:
        return msgspec.json.decode(stored, type=list[Ended])
    except msgspec.DecodeError as error:
        raise InternalError(f"the list of ended sessions is unreadable: {error}") from error


def _digest(user: str) -> str:
    return sha256(user.encode(errors="surrogatepass")).hexdigest()[:16]


def limited(listed: list[Ended], now: float) -> list[Ended]:
    """Without those that have expired, and within the limits after the last one was added."""
    kept = [each for each in listed if each.expires > now]
    newest = kept[-1:]
    if newest and sum(each.user == newest[0].user for each in kept) > MOST_OF_USER:
        kept = _joined(kept, newest[0].user, [each for each in kept if each.user == newest[0].user])
    return _joined(kept, _EVERYBODY, kept) if len(kept) > MOST_IN_ALL else kept


def _joined(kept: list[Ended], user: str, theirs: list[Ended]) -> list[Ended]:
    """With one entry in place of the older half of `theirs`."""
    older = sorted(theirs, key=lambda each: each.began)[: len(theirs) // 2 + 1]
    # Sessions that began up to then expire no later than the youngest of these: all last as long.
    floor = replace(older[-1], user=user, expires=max(each.expires for each in theirs), id="")
    dropped = set(older)
    return [*(each for each in kept if each not in dropped), floor]

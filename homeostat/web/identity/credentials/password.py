"""Password hashes: scrypt, stored with their salt and cost.

Hashing takes a good part of a second and tens of megabytes on purpose. It runs in a few threads of its own: whoever
guesses passwords waits in line, and the event loop goes on. A request that would wait for longer than a person does is
refused at once, by the time that the last hash took. A comparison takes as long for a user who does not exist.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import hmac
import os
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import msgspec

from homeostat.web.kit.refusal import RefusalError

T = TypeVar("T")

_SCHEME = "scrypt"
_SALT_BYTES = 16
_HASH_BYTES = 32
_OVERHEAD = 1 << 20
_THREADS = 2
_LONGEST_LINE = 64
_LONGEST_WAIT_S = 10.0
_BUSY_HEADERS = (("Retry-After", "5"),)


class Cost(msgspec.Struct, frozen=True):
    """The cost of one hash: 128 * r * 2**log_n bytes of memory, passed p times."""

    log_n: int = 15
    r: int = 8
    p: int = 3

    @property
    def memory(self) -> int:
        return 128 * self.r * ((1 << self.log_n) + self.p)

    @property
    def work(self) -> int:
        return 128 * self.r * self.p << self.log_n

    @property
    def is_acceptable(self) -> bool:
        """Whether a stored hash may have this cost."""
        is_valid = 1 <= self.log_n <= 20 and 1 <= self.r <= 1024 and 1 <= self.p <= 1024
        return is_valid and self.memory <= _MOST_MEMORY and self.work <= _MOST_WORK

    def hash(self, password: str, salt: bytes) -> bytes:
        n, most = 1 << self.log_n, self.memory + _OVERHEAD
        return hashlib.scrypt(password.encode(), salt=salt, n=n, r=self.r, p=self.p, maxmem=most, dklen=_HASH_BYTES)


DEFAULT_COST = Cost()
_MOST_MEMORY = 65 << 20
_MOST_WORK = 4 * DEFAULT_COST.work
_LONGEST_HASH = 512
"""A stored hash names its own cost. One that would cost more than this was not made here, and matches nothing."""


class BusyError(RefusalError):
    """Too many requests wait for a hash."""

    def __init__(self) -> None:
        super().__init__(503, "too many logins at once; try again in a few seconds", _BUSY_HEADERS)


def make_hash(password: str, cost: Cost = DEFAULT_COST) -> str:
    salt = os.urandom(_SALT_BYTES)
    return _written(cost, salt, cost.hash(password, salt))


def nobodys_hash(cost: Cost = DEFAULT_COST) -> str:
    """The hash of no password, which costs as much to compare as any other."""
    return _written(cost, os.urandom(_SALT_BYTES), os.urandom(_HASH_BYTES))


def is_match(password: str, hashed: str) -> bool:
    """False for an invalid hash, and for one that would cost too much to compare."""
    if len(hashed) > _LONGEST_HASH:
        return False
    try:
        scheme, log_n, r, p, salt, expected = hashed.split("$")
        cost = Cost(int(log_n), int(r), int(p))
        salt_bytes, expected_bytes = base64.b64decode(salt, validate=True), base64.b64decode(expected, validate=True)
    except ValueError:
        return False
    if scheme != _SCHEME or not cost.is_acceptable or len(expected_bytes) != _HASH_BYTES:
        return False
    return hmac.compare_digest(cost.hash(password, salt_bytes), expected_bytes)


def _written(cost: Cost, salt: bytes, found: bytes) -> str:
    fields = (_SCHEME, str(cost.log_n), str(cost.r), str(cost.p))
    return "$".join((*fields, *(base64.b64encode(each).decode() for each in (salt, found))))


class Passwords:
    """Hashes and compares in threads; `BusyError` if too many requests wait. `clock` counts seconds. `close` it."""

    def __init__(self, cost: Cost = DEFAULT_COST, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._cost, self._clock = cost, clock
        self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="passwords")
        self._nobodys = nobodys_hash(cost)
        self._waiting = 0
        self._took_s = 0.0
        """How long the last hash took, without its wait."""

    def close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)

    async def hash(self, password: str) -> str:
        return await self._run(lambda: make_hash(password, self._cost))

    async def check(self, password: str, hashed: str | None) -> bool:
        """Without a hash it takes as long, and does not match."""
        found = await self._run(lambda: is_match(password, hashed or self._nobodys))
        return found and bool(hashed)

    async def _run(self, work: Callable[[], T]) -> T:
        if self._waiting >= _LONGEST_LINE or self._waiting * self._took_s > _THREADS * _LONGEST_WAIT_S:
            raise BusyError
        self._waiting += 1
        latest = self._clock() + _LONGEST_WAIT_S
        try:
            loop = asyncio.get_running_loop()
            result, self._took_s = await loop.run_in_executor(self._threads, self._timed, work, latest)
            return result
        finally:
            self._waiting -= 1

    def _timed(self, work: Callable[[], T], latest: float) -> tuple[T, float]:
        began = self._clock()
        if began > latest:
            raise BusyError
        return work(), self._clock() - began

"""A few threads for expensive work, shared fairly between users.

Each user has a queue of its own and at most one thread at a time; a free thread takes the next user in turn. So the
expensive calls of one user delay those of the others by one call at the most, however many there are. There are two
threads: each busy one makes the event loop wait longer for the interpreter lock. The server and the faces of a process
share them.

The interpreter lock is handed out without priorities, so the threads give way (`give_way`): before each piece of work,
and where the work itself says so, they wait until the event loop has finished its turn. Otherwise a turn that serves
many clients would take as much time again for each busy thread, and more: each system call of the loop hands over the
lock.
"""

from __future__ import annotations

import asyncio
import sys
import threading
from _thread import allocate_lock
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from threading import get_ident
from time import thread_time
from typing import Any, TypeVar, cast

_SWITCH_INTERVAL_S = 0.0001
"""How long the event loop waits before it takes the interpreter lock from a busy thread; Python's default is 5 ms.

The loop gives up the lock in each system call and each step of TLS, hundreds of times in a turn with many clients, and
may wait that long each time. So the wait is as short as what the loop does in between.
"""
_GIVE_WAY_AFTER_S = 0.004
"""CPU time of a thread after which it gives way."""
_GIVE_WAY_FOR_S = 0.02
"""The most that it waits for the loop, so that a busy loop slows expensive work down and does not stop it."""

T = TypeVar("T")
Work = Callable[[], None]
"""Handles its own errors."""


class FairThreads:
    """Daemon threads that are started when they are first needed."""

    def __init__(self, name: str, most: int = 2) -> None:
        self._name, self._most = name, most
        self._lock = threading.Lock()
        self._is_changed = threading.Condition(self._lock)
        self._waiting: dict[str, deque[Work]] = {}
        """The queues of users without a thread; the first one is next."""
        self._parked: dict[str, deque[Work]] = {}
        """The queues of users whose work is running now."""
        self._idents: set[int] = set()
        self._idle = 0
        self._usual_interval_s = sys.getswitchinterval()

    def submit(self, user: str, work: Work) -> None:
        with self._lock:
            if user in self._parked:
                self._parked[user].append(work)
                return
            self._waiting.setdefault(user, deque()).append(work)
            if self._idle:
                self._is_changed.notify()
            elif len(self._idents) < self._most:
                self._start()

    def is_current(self) -> bool:
        """Whether the caller runs in one of the threads."""
        return get_ident() in self._idents

    def _start(self) -> None:
        thread = threading.Thread(target=self._serve, name=f"{self._name}-{len(self._idents)}", daemon=True)
        self._idents.add(-len(self._idents) - 1)  # A place for the thread, until it knows its identifier.
        thread.start()

    def _serve(self) -> None:
        with self._lock:
            self._idents.discard(min(self._idents))
            self._idents.add(get_ident())
        while True:
            user, work = self._next()
            work()
            del work  # It may hold a large body.
            self._release(user)

    def _next(self) -> tuple[str, Work]:
        with self._lock:
            self._idle += 1
            while not self._waiting:
                self._is_changed.wait()
            self._idle -= 1
            user = next(iter(self._waiting))
            queue = self._waiting.pop(user)
            work = queue.popleft()
            if not self._parked:
                sys.setswitchinterval(_SWITCH_INTERVAL_S)
            self._parked[user] = queue
            return user, work

    def _release(self, user: str) -> None:
        with self._lock:
            queue = self._parked.pop(user)
            if queue:
                self._waiting[user] = queue
                self._is_changed.notify()
            elif not self._parked and not self._waiting:
                sys.setswitchinterval(self._usual_interval_s)


SHARED = FairThreads("homeostat-large-calls")
"""The threads of this process."""

Box = list[tuple[Any, BaseException | None]]
"""A result or an error until it is taken out. An error that stayed here would keep its frames, and with them the body,
until the next garbage collection."""


def take(box: Box) -> Any:
    value, error = box.pop()
    try:
        if error is not None:
            raise error
        return value
    finally:
        del error


class _Current(threading.local):
    """The loop for which this thread works, and its CPU time when it last gave way."""

    loop: asyncio.AbstractEventLoop | None = None
    since_s = 0.0


_current = _Current()


def give_way() -> None:
    """In a thread that has computed for a while: wait until the event loop has finished its turn. Elsewhere nothing."""
    loop = _current.loop
    if loop is None or thread_time() - _current.since_s < _GIVE_WAY_AFTER_S:
        return
    is_over = allocate_lock()
    is_over.acquire()
    with suppress(RuntimeError):  # the loop may be closed
        loop.call_soon_threadsafe(is_over.release)
        is_over.acquire(timeout=_GIVE_WAY_FOR_S)
    _current.since_s = thread_time()


async def in_thread(function: Callable[[], T], *, user: str) -> T:
    """The result of a function that reads immutable data, computed in a thread.

    If its deadline ends before its turn, it never runs.
    """
    loop = asyncio.get_running_loop()
    is_done: asyncio.Future[None] = loop.create_future()
    box: Box = []

    def run() -> None:
        _current.loop = loop
        give_way()
        if is_done.cancelled():
            return
        try:
            box.append((function(), None))
        except BaseException as error:
            box.append((None, error))
        with suppress(RuntimeError):  # the loop may be closed
            loop.call_soon_threadsafe(_wake, is_done)

    SHARED.submit(user, run)
    await is_done
    return cast("T", take(box))


def _wake(waiting: asyncio.Future[None]) -> None:
    if not waiting.done():
        waiting.set_result(None)

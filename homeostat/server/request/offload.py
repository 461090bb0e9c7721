"""Calls with much to do, carried out in a thread so that nobody else has to wait for them.

Python takes seconds to walk what it decodes in milliseconds. So a call with a large body, on a large object or of a
kind that takes long to check does its work in a thread, and what it asks of the store and of admission is done on the
event loop, as for every other call. There is one such thread: more would only take more time from the loop. While a
call waits for a webhook or a commit, it is there for others. A call that turns out to be long only on the way
(`TooLongError`) begins anew there; until its commit nothing has happened. Decision 21 has the figures.
"""

from __future__ import annotations

import asyncio
import inspect
import threading
from collections.abc import Awaitable, Callable, Coroutine, Generator
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from functools import partial, wraps
from threading import get_ident
from typing import Any, NamedTuple, TypeVar, cast

from homeostat.server.request.call import Admission, Answer, Call
from homeostat.store.base import Store

LARGE_BYTES = 64 * 1024
"""A body, or a stored object, from which on a call is carried out in the thread."""
DENSE_ITEMS = 1_000
"""Objects, arrays and nulls from which on a smaller one is too: they are what takes the time."""
_SMALL_BYTES = 4 * 1024

_thread = ThreadPoolExecutor(1, thread_name_prefix="homeostat-large-calls")
_ident = 0
"""Of the thread, once it has carried out something."""

T = TypeVar("T")
Verb = Callable[[Call], Coroutine[Any, Any, Answer]]


class TooLongError(Exception):
    """This has to go on in the thread; raised only outside of it."""


def is_offloaded() -> bool:
    """Whether this runs in the thread, where it may take its time."""
    return get_ident() == _ident


async def in_thread(look: Callable[[], T]) -> T:
    """What a long look at things that do not change shows."""
    return await _there(look)


def offloaded(verb: Verb) -> Verb:
    """The verb, with long calls carried out in the thread."""

    @wraps(verb)
    async def run(call: Call) -> Answer:
        if _is_large(call):
            return await _carry(verb, call)
        try:
            return await verb(call)
        except TooLongError:
            return await _carry(verb, call)

    return run


def _is_large(call: Call) -> bool:
    if call.kind.behaviour.is_slow or (len(call.body) > _SMALL_BYTES and _is_much(call.body, call.content_type)):
        return True
    record = call.store.get(call.key) if call.path.name else None
    return record is not None and len(record.value) > _SMALL_BYTES and _is_much(record.value)


def _is_much(data: bytes, content_type: str = "") -> bool:
    """More than a few kilobytes of something; protobuf and YAML do not show how much they hold."""
    if len(data) >= LARGE_BYTES or "protobuf" in content_type or ("yaml" in content_type and b"&" in data):
        return True
    return data.count(b"{") + data.count(b"[") + data.count(b"null") > DENSE_ITEMS


async def _carry(verb: Verb, call: Call) -> Answer:
    loop = asyncio.get_running_loop()
    errand = _Errand(loop)
    backend = replace(
        call.backend,
        store=cast("Store", _OnLoop(call.backend.store, errand)),
        admission=cast("Admission", _OnLoop(call.backend.admission, errand)),
        require=errand.bound(call.backend.require),
    )
    work = verb(replace(call, backend=backend))
    granted: _Box | None = None
    try:
        while True:
            reached = await _there(partial(_go_on, work, granted))
            if isinstance(reached, _Done):
                return reached.answer
            if not isinstance(reached, _Wish):
                told = f"{verb.__name__} of {call.kind.group_resource} awaited the event loop in a worker thread"
                raise RuntimeError(told)
            granted = await _grant(reached)
    except BaseException:
        errand.give_up()
        _thread.submit(work.close)  # there, since it may just be running
        raise


_Box = list[tuple[Any, BaseException | None]]
"""What came of something, until it is taken out: an error that were still held here would hold its frames, and with
them the body, until the next collection."""


def _taken(box: _Box) -> Any:
    value, error = box.pop()
    try:
        if error is not None:
            raise error
        return value
    finally:
        del error


async def _there(function: Callable[[], T]) -> T:
    """What the function gives in the thread."""
    loop = asyncio.get_running_loop()
    is_done: asyncio.Future[None] = loop.create_future()
    box: _Box = []

    def run() -> None:
        try:
            box.append((function(), None))
        except BaseException as error:
            box.append((None, error))
        with suppress(RuntimeError):  # the loop may have been closed
            loop.call_soon_threadsafe(_wake, is_done)

    _thread.submit(run)
    await is_done
    return cast("T", _taken(box))


def _wake(waiting: asyncio.Future[None]) -> None:
    if not waiting.done():
        waiting.set_result(None)


class _Done(NamedTuple):
    answer: Answer


class _Wish(NamedTuple):
    """What a call in the thread waits for; the loop grants it, and the thread is another's meanwhile."""

    function: Callable[..., Awaitable[Any]]
    args: tuple[Any, ...]
    more: dict[str, Any]

    def __await__(self) -> Generator[_Wish, _Box, Any]:
        return _taken((yield self))


def _go_on(work: Coroutine[Any, Any, Answer], granted: _Box | None) -> object:
    """In the thread, up to the next wish or to the end."""
    global _ident  # noqa: PLW0603
    _ident = get_ident()
    try:
        return work.send(granted)
    except StopIteration as stop:
        return _Done(stop.value)


async def _grant(wish: _Wish) -> _Box:
    try:
        return [(await wish.function(*wish.args, **wish.more), None)]
    except Exception as error:
        return [(None, error)]  # raised where it was wished for


class _Errand:
    """The way from the thread to the loop and back, until somebody gives the call up."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._loop_thread = get_ident()
        self._is_over = threading.Event()
        self._asked: Future[Any] | None = None

    def ask(self, function: Callable[..., Any], *args: Any, **more: Any) -> Any:
        """What the function gives when the loop calls it, which it does at once."""
        if self._is_over.is_set():
            raise CancelledError
        self._asked = asked = asyncio.run_coroutine_threadsafe(_call(function, *args, **more), self._loop)
        if self._is_over.is_set():
            asked.cancel()
        return asked.result()

    def bound(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """The function, called on the loop whoever calls it. The loop itself may too: of what it was passed."""
        if inspect.iscoroutinefunction(function):

            async def await_there(*args: Any, **more: Any) -> Any:
                return await (function(*args, **more) if self._is_there() else _Wish(function, args, more))

            return await_there

        def call_there(*args: Any, **more: Any) -> Any:
            return function(*args, **more) if self._is_there() else self.ask(function, *args, **more)

        return call_there

    def give_up(self) -> None:
        self._is_over.set()
        if self._asked is not None:
            self._asked.cancel()

    def _is_there(self) -> bool:
        return get_ident() == self._loop_thread


async def _call(function: Callable[..., Any], *args: Any, **more: Any) -> Any:
    return function(*args, **more)


class _OnLoop:
    """Something of the loop's, as the thread sees it: its methods are called on the loop."""

    def __init__(self, target: object, errand: _Errand) -> None:
        self._target = target
        self._errand = errand

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._target, name)
        return self._errand.bound(found) if callable(found) else found

"""Runs expensive calls in threads, so that they do not block the event loop.

Python takes seconds to walk what it decodes in milliseconds. So a call with a large body, on a large object or of a
kind that is slow to validate runs in a thread. Its calls to the store and to admission run on the event loop, as for
every other call. Users take turns (`edge/threads.py`), so that the expensive calls of one do not hold up those of all.
While a call waits for a webhook or a commit, the thread serves other calls. A call that turns out to be expensive
(`TooLongError`) starts again in a thread; until its commit it has no effect. Decision 21 has the figures.
"""

from __future__ import annotations

import asyncio
import inspect
import threading
from collections.abc import Awaitable, Callable, Coroutine, Generator
from concurrent.futures import CancelledError, Future
from functools import partial, wraps
from threading import get_ident
from typing import Any, NamedTuple, TypeVar, cast

from msgspec.structs import replace

from homeostat.edge.threads import SHARED, Box, in_thread, take
from homeostat.server.request.call import Admission, Allocator, Call, Conversions
from homeostat.server.request.too_long import TooLongError
from homeostat.store.base import Store

LARGE_BYTES = 64 * 1024
"""A call with a body or a stored object of at least this size runs in the thread."""
DENSE_ITEMS = 1_000
"""So does a smaller one with more objects, arrays and nulls than this: they take the time."""
_SMALL_BYTES = 4 * 1024

_COPY = b"copy"
"""An operation of a JSON patch by which a short patch makes a large object."""

T = TypeVar("T")
Verb = Callable[[Call], Coroutine[Any, Any, T]]


def offloaded(verb: Verb[T]) -> Verb[T]:
    """Make a verb run its expensive calls in a thread."""

    @wraps(verb)
    async def run(call: Call) -> T:
        if is_large(call):
            return await _offload(verb, call)
        try:
            return await verb(call)
        except TooLongError:
            return await _offload(verb, call)

    return run


def is_large(call: Call) -> bool:
    """Whether its body or stored object is expensive to process."""
    if call.kind.behaviour.is_slow or (len(call.body) > _SMALL_BYTES and _is_expensive(call.body, call.content_type)):
        return True
    if "json-patch" in call.content_type and _COPY in call.body:
        return True
    record = call.store.get(call.key) if call.path.name else None
    return record is not None and len(record.value) > _SMALL_BYTES and _is_expensive(record.value)


def _is_expensive(data: bytes, content_type: str = "") -> bool:
    """Whether some kilobytes are expensive to process; the size of protobuf and YAML does not show their content."""
    if len(data) >= LARGE_BYTES or "protobuf" in content_type or ("yaml" in content_type and b"&" in data):
        return True
    return data.count(b"{") + data.count(b"[") + data.count(b"null") > DENSE_ITEMS


def is_heavy(value: object) -> bool:
    """Whether a decoded object is expensive to process, as `is_large` is of its bytes: a webhook or policy may have
    made it so.
    """
    size, items, waiting = 0, 0, [value]
    while waiting:
        each = waiting.pop()
        if isinstance(each, dict | list) and len(each) >= LARGE_BYTES:
            return True
        if isinstance(each, dict):
            waiting += each.values()
            size += sum(map(len, each))
        elif isinstance(each, list):
            waiting += each
        elif isinstance(each, str):
            size += len(each)
            continue
        elif each is not None:
            size += 1
            continue
        items += 1
        if items > DENSE_ITEMS or size + len(waiting) >= LARGE_BYTES:
            return True
    return size >= LARGE_BYTES


async def _offload(verb: Verb[T], call: Call) -> T:
    loop = asyncio.get_running_loop()
    caller = _LoopCaller(loop)
    backend = replace(
        call.backend,
        store=cast("Store", _OnLoop(call.backend.store, caller)),
        admission=cast("Admission", _OnLoop(call.backend.admission, caller)),
        conversions=cast("Conversions", _OnLoop(call.backend.conversions, caller)),
        require=caller.bound(call.backend.require),
        certify=caller.bound(call.backend.certify),
        allocator=cast("Allocator", _AllocatorOnLoop(call.backend.allocator, caller)),
    )
    work = verb(replace(call, backend=backend))
    outcome: Box | None = None
    try:
        while True:
            reached = await in_thread(partial(_resume, work, outcome), user=call.user.name)
            if isinstance(reached, _Done):
                return cast("T", reached.result)
            if not isinstance(reached, _LoopWait):
                message = f"{verb.__name__} of {call.kind.group_resource} awaited the event loop in a worker thread"
                raise RuntimeError(message)
            outcome = await _finish_wait(reached)
    except BaseException:
        caller.cancel()
        SHARED.submit(call.user.name, work.close)  # behind the part of it that may be running now
        raise


class _Done(NamedTuple):
    result: object


class _LoopWait(NamedTuple):
    """A coroutine that a call in the thread awaits. It runs on the loop; meanwhile the thread serves other calls."""

    function: Callable[..., Awaitable[Any]]
    args: tuple[Any, ...]
    more: dict[str, Any]

    def __await__(self) -> Generator[_LoopWait, Box, Any]:
        return take((yield self))


def _resume(work: Coroutine[Any, Any, Any], outcome: Box | None) -> object:
    """In the thread: run up to the next wait for the loop, or to the end."""
    try:
        return work.send(outcome)
    except StopIteration as stop:
        return _Done(stop.value)


async def _finish_wait(wait: _LoopWait) -> Box:
    try:
        return [(await wait.function(*wait.args, **wait.more), None)]
    except Exception as error:
        return [(None, error)]  # raised where it is awaited


class _LoopCaller:
    """Runs functions on the loop for a call in the thread, until the call is cancelled."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._loop_thread = get_ident()
        self._is_cancelled = threading.Event()
        self._pending: Future[Any] | None = None

    def run(self, function: Callable[..., Any], *args: Any, **more: Any) -> Any:
        """The result of the function, which the loop calls soon."""
        if self._is_cancelled.is_set():
            raise CancelledError
        self._pending = pending = asyncio.run_coroutine_threadsafe(_call(function, *args, **more), self._loop)
        if self._is_cancelled.is_set():
            pending.cancel()
        return pending.result()

    def bound(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """A function that runs `function` on the loop, from whichever thread it is called."""
        if inspect.iscoroutinefunction(function):

            async def await_on_loop(*args: Any, **more: Any) -> Any:
                return await (function(*args, **more) if self._is_on_loop() else _LoopWait(function, args, more))

            return await_on_loop

        def call_on_loop(*args: Any, **more: Any) -> Any:
            return function(*args, **more) if self._is_on_loop() else self.run(function, *args, **more)

        return call_on_loop

    def cancel(self) -> None:
        self._is_cancelled.set()
        if self._pending is not None:
            self._pending.cancel()

    def _is_on_loop(self) -> bool:
        return get_ident() == self._loop_thread


async def _call(function: Callable[..., Any], *args: Any, **more: Any) -> Any:
    return function(*args, **more)


class _OnLoop:
    """A proxy whose methods run on the loop."""

    def __init__(self, target: object, caller: _LoopCaller) -> None:
        self._target = target
        self._caller = caller

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._target, name)
        return self._caller.bound(found) if callable(found) else found


class _AllocatorOnLoop(_OnLoop):
    """Releases from any thread, because a cancelled call cannot wait for the loop."""

    def release(self, writer: int, *, is_certain: bool) -> None:
        cast("Allocator", self._target).release(writer, is_certain=is_certain)

"""A program that is started: its pipes as streams, and its end.

A thread of its own starts it and waits for it. The event loop would fork, which copies the page tables of this process:
10 ms for each 100 MiB of memory, in which it serves nobody. `subprocess` starts a program without such a copy.
"""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, TypeVar

T = TypeVar("T")
_CHUNK = 1 << 16


class Pipe:
    """One end of a pipe, which it closes; for one caller at a time. Others have their turn after each chunk.

    The streams of asyncio do not serve here: uvloop closes the descriptor of such a pipe twice, and the second time it
    may belong to another thread.
    """

    def __init__(self, file: IO[bytes] | None) -> None:
        assert file is not None
        self._file, self._fd = file, file.fileno()
        os.set_blocking(self._fd, False)

    async def read(self) -> bytes:
        """Some bytes, or none at the end."""
        loop = asyncio.get_running_loop()
        while not self._file.closed:
            await _ready(self._fd, loop.add_reader, loop.remove_reader)
            with suppress(BlockingIOError):
                return os.read(self._fd, _CHUNK)
        return b""

    async def write(self, data: bytes) -> None:
        """All of it. `BrokenPipeError` if the reader has gone."""
        loop, left = asyncio.get_running_loop(), memoryview(data)
        while left:
            await _ready(self._fd, loop.add_writer, loop.remove_writer)
            with suppress(BlockingIOError):
                left = left[os.write(self._fd, left[:_CHUNK]) :]

    def close(self) -> None:
        self._file.close()


async def _ready(
    descriptor: int, add: Callable[[int, Callable[[], None]], None], remove: Callable[[int], object]
) -> None:
    ready = asyncio.Event()
    add(descriptor, ready.set)
    try:
        await ready.wait()
    finally:
        remove(descriptor)


class Child:
    """The leader of a process group of its own. `close` it when it has ended."""

    def __init__(self, process: subprocess.Popen[bytes], ended: asyncio.Future[int]) -> None:
        self.pid = process.pid
        self.stdin, self.stdout, self.stderr = Pipe(process.stdin), Pipe(process.stdout), Pipe(process.stderr)
        self._ended = ended

    async def wait(self) -> int:
        """The exit code; negative for the signal that ended it."""
        return await asyncio.shield(self._ended)

    def send(self, number: signal.Signals) -> None:
        """To the whole group, which keeps its id while a member lives."""
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, number)

    def close(self) -> None:
        """Closes the pipes, also those that a process which was left behind holds open."""
        for each in (self.stdin, self.stdout, self.stderr):
            each.close()


async def start_child(
    arguments: Sequence[str], *, directory: Path, environment: Mapping[str, str], inherited: Sequence[int] = ()
) -> Child:
    """`OSError` if it cannot be started, `ValueError` if an argument or a variable cannot be passed to a program.

    If this is cancelled meanwhile, the program has ended afterwards.
    """

    def start() -> subprocess.Popen[bytes]:
        return subprocess.Popen(  # noqa: S603 - no shell
            arguments,
            bufsize=0,
            cwd=directory,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
            pass_fds=inherited,
        )

    loop = asyncio.get_running_loop()
    started: asyncio.Future[Child] = loop.create_future()
    thread = threading.Thread(target=_live, args=(start, loop, started), name="program", daemon=True)
    try:
        thread.start()
    except RuntimeError as error:
        raise OSError(f"cannot start a thread for a program: {error}; raise the limit of threads") from error
    try:
        return await asyncio.shield(started)
    except asyncio.CancelledError:
        started.add_done_callback(_end)
        await asyncio.wait({started})
        if started.exception() is None:
            child = started.result()
            await child.wait()
            child.close()
        raise


def _end(started: asyncio.Future[Child]) -> None:
    """Also if whoever starts it is cancelled once more, and does not wait."""
    if not started.cancelled() and started.exception() is None:
        started.result().send(signal.SIGKILL)


def _live(
    start: Callable[[], subprocess.Popen[bytes]], loop: asyncio.AbstractEventLoop, started: asyncio.Future[Child]
) -> None:
    """The life of a program, in its thread."""

    def report(what: asyncio.Future[T], result: T) -> None:
        # A loop that is closed has nobody left who waits.
        with suppress(RuntimeError):
            loop.call_soon_threadsafe(lambda: None if what.done() else what.set_result(result))

    ended: asyncio.Future[int] = asyncio.Future(loop=loop)
    try:
        process = start()
        try:
            child = Child(process, ended)
        except BaseException:
            process.kill()
            process.wait()
            raise
    except BaseException as error:
        # Whoever waits for the program gets it.
        reason = error
        with suppress(RuntimeError):
            loop.call_soon_threadsafe(lambda: started.set_exception(reason))
        return
    report(started, child)
    report(ended, process.wait())

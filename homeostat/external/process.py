"""Runs a program to its end: without a shell, in an environment built from scratch, with limits on time and memory.

Promises, each with a test: the program gets nothing of this process's environment; the program and all processes that
it started have ended when `run_program` returns or is cancelled; a program that prints too much is stopped; if this
process is killed, a program that is still running keeps its `lock`, so that it is not started twice. The memory limit
applies to each process that the program starts, not to all together.
"""

from __future__ import annotations

import asyncio
import fcntl
import signal
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from homeostat.external.child import Child, Pipe, start_child

PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_DRAIN_S = 1.0
_BLOCK = 512
"""The unit of `ulimit -f` in a POSIX shell."""
_LIMITED = 'ulimit -d "$1" && { [ "$2" = any ] || ulimit -f "$2"; } && ulimit -c 0 && shift 2 && exec "$@"'
_NOT_STARTED = (126, 127)


class ProcessError(Exception):
    """The program did not end by itself."""

    reason = "ProgramFailed"


class ProgramMissingError(ProcessError):
    reason = "ProgramMissing"


class ProgramBusyError(ProcessError):
    """It is still running, started by a process that has ended."""

    reason = "StillRunning"


class ProgramTimeoutError(ProcessError):
    reason = "ProgramTimedOut"


class OutputTooLargeError(ProcessError):
    reason = "OutputTooLarge"


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    arguments: Sequence[str]
    """The first is a path, or a name that is searched in PATH."""
    directory: Path
    environment: Mapping[str, str] = field(default_factory=dict)
    """In addition to PATH, HOME and LANG, which it may override."""
    stdin: bytes = b""
    timeout_s: float = 600.0
    memory_bytes: int = 1 << 30
    file_bytes: int | None = None
    """The limit of each file that it writes; None for no limit."""
    largest_output: int = 4 << 20
    """The limit of stdout; more is an error. Of stderr, the last bytes up to the same limit are kept."""
    stop_signal: signal.Signals = signal.SIGTERM
    grace_s: float = 5.0
    """Between the stop signal and SIGKILL."""
    lock: Path | None = None
    """A file that is locked while the program runs."""
    inherited: Sequence[int] = ()
    """Open files that the program inherits, such as locks of the caller."""
    on_stdout: Callable[[bytes], None] | None = None
    on_stderr: Callable[[bytes], None] | None = None
    """Called with the output as it arrives."""


@dataclass(frozen=True, slots=True)
class Finished:
    code: int
    """The exit code; negative for the signal that ended it."""
    stdout: bytes
    stderr: bytes


async def run_program(program: Program) -> Finished:
    with locked(program.lock, _name(program)) as lock:
        process = await _start(program, (*lock, *program.inherited))
        try:
            async with asyncio.timeout(program.timeout_s):
                stdout, stderr = await _together(process, program)
                code = await process.wait()
        except TimeoutError as error:
            await _stop(process, program)
            raise ProgramTimeoutError(f"{_name(program)} timed out after {program.timeout_s:g} s") from error
        except BaseException:
            await _stop(process, program)
            raise
        else:
            # Ends the processes that the program left behind.
            process.send(signal.SIGKILL)
        finally:
            process.close()
    if code in _NOT_STARTED and not stdout:
        raise ProgramMissingError(f"cannot start {_name(program)}: {stderr.decode(errors='replace')[-500:]}")
    return Finished(code, stdout, stderr)


@contextmanager
def locked(path: Path | None, name: str) -> Iterator[tuple[int, ...]]:
    """A program inherits the open file and with it the lock, which is released when the last process has closed it."""
    if path is None:
        yield ()
        return
    with path.open("wb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise ProgramBusyError(f"{name} is still running") from error
        yield (file.fileno(),)


async def _start(program: Program, inherited: tuple[int, ...]) -> Child:
    environment = {"PATH": PATH, "HOME": str(program.directory), "LANG": "C.UTF-8", **program.environment}
    limit_kib = str(max(program.memory_bytes >> 10, 1))
    blocks = "any" if program.file_bytes is None else str(max(program.file_bytes // _BLOCK, 1))
    return await start_child(
        ("/bin/sh", "-c", _LIMITED, "sh", limit_kib, blocks, *program.arguments),
        directory=program.directory,
        environment=environment,
        inherited=inherited,
    )


async def _together(process: Child, program: Program) -> tuple[bytes, bytes]:
    try:
        async with asyncio.TaskGroup() as tasks:
            stdout = tasks.create_task(_read(process.stdout, program))
            stderr = tasks.create_task(_read_end(process.stderr, program))
            tasks.create_task(_feed(process, program.stdin))
    except* ProcessError as errors:
        failure = errors.exceptions[0]
    else:
        return stdout.result(), stderr.result()
    raise failure


async def _feed(process: Child, data: bytes) -> None:
    # A program may end without reading its stdin.
    with suppress(BrokenPipeError):
        await process.stdin.write(data)
    process.stdin.close()


async def _read(pipe: Pipe, program: Program) -> bytes:
    data = bytearray()
    while chunk := await pipe.read():
        data += chunk
        if program.on_stdout is not None:
            program.on_stdout(chunk)
        if len(data) > program.largest_output:
            raise OutputTooLargeError(f"{_name(program)} printed more than {program.largest_output} bytes")
    return bytes(data)


async def _read_end(pipe: Pipe, program: Program) -> bytes:
    data, largest = bytearray(), program.largest_output
    while chunk := await pipe.read():
        data += chunk
        if program.on_stderr is not None:
            program.on_stderr(chunk)
        if len(data) > 2 * largest:
            del data[:-largest]
    return bytes(data[-largest:])


async def _stop(process: Child, program: Program) -> None:
    """Waits also while being cancelled: the wait is short, and afterwards the program has ended."""
    process.send(program.stop_signal)
    try:
        with suppress(TimeoutError):
            async with asyncio.timeout(program.grace_s):
                await _drain(process)
                await process.wait()
    finally:
        # Also if it is cancelled once more during the grace period: a process that nobody waits for stays a zombie.
        process.send(signal.SIGKILL)
        await process.wait()
        with suppress(TimeoutError):
            async with asyncio.timeout(_DRAIN_S):
                await _drain(process)


async def _drain(process: Child) -> None:
    """A pipe closes only when it is read to its end, and a program that fills one waits for its reader."""
    for pipe in (process.stdout, process.stderr):
        while await pipe.read():
            pass


def _name(program: Program) -> str:
    return f'the program "{Path(program.arguments[0]).name}"'

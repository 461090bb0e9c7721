"""A Python process that has imported what most commands import, and forks one for each request.

The tests' process starts it as a script and speaks to it over a socket (`tests/processes.py`). A request is a message
of JSON with the descriptors 0, 1 and 2 of the new process; the answer is its id. The server forks twice, and the
process in between ends: the kernel then gives the new process to the tests' process, which waits for it as for any
child. A command that a shell starts asks over a listening socket (`tests/forked_command.py`), which tells it the exit
code in the end.

Promises: the server starts no thread, event loop or connection. The new process has the arguments, environment,
directory and descriptors of the request and nothing else; it runs the program from its file and ends with the exit code
of that.
"""

from __future__ import annotations

import atexit
import gc
import io
import json
import locale
import os
import runpy
import select
import signal
import socket
import struct
import sys
import tempfile
import threading
import time
from contextlib import suppress
from importlib import import_module
from typing import Any

# What `up`, `run` and the commands on objects import; the modules of a command itself are left to it.
MODULES = (
    "homeostat.cli.main",
    "homeostat.cli.plane.up",
    "homeostat.plane",
    "homeostat.edge.loop",
    "homeostat.cli.console.logs",
    "homeostat.cli.objects.get",
    "homeostat.cli.operators.run",
    "homeostat.runtime.telemetry.settings",
    *(f"homeostat.operators.{name}" for name in ("actions", "contracts", "images", "policy", "sync")),
    "homeostat.cli.policy.check",
    "homeostat.cli.resource.apply",
    "aiohttp",
    "asyncpg",
)
_LENGTH = struct.Struct("!I")
_UNESCAPED = {"", "C", "POSIX", "C.UTF-8", "C.utf8"}


def main() -> None:
    control, listener = socket.socket(fileno=int(sys.argv[1])), socket.socket(fileno=int(sys.argv[2]))
    for each in MODULES:
        import_module(each)
    gc.collect()
    gc.freeze()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    control.sendall(_LENGTH.pack(os.getpid()))
    request = _serve(control, listener)
    if request is not None:
        _run(request)


def _serve(control: socket.socket, listener: socket.socket) -> dict[str, Any] | None:
    """Returns in a forked process, with what it shall be; and without, once nobody can ask any more."""
    while True:
        waiting, _, _ = select.select([control, listener], [], [])
        asker = control if control in waiting else listener.accept()[0]
        asked = _receive(asker)
        if asked is None and asker is control:
            return None
        if asked is not None:
            request, descriptors = asked
            if _fork(asker, descriptors):
                control.detach()
                listener.detach()
                request["told"] = None if asker is control else asker.detach()
                _take_descriptors(descriptors, request["told"])
                return request
        if asker is not control:
            asker.close()


def _fork(asker: socket.socket, descriptors: list[int]) -> bool:
    """Whether this is the new process. It begins when its id was sent: what it sends comes after that."""
    reading, writing = os.pipe()
    gate, opener = os.pipe()
    between = os.fork()
    if between == 0:
        if child := os.fork():
            os.write(writing, _LENGTH.pack(child))
            os._exit(0)
        os.close(opener)
        os.read(gate, 1)
        return True
    for each in (writing, gate, *descriptors):
        os.close(each)
    os.waitpid(between, 0)
    with suppress(BrokenPipeError):
        asker.sendall(os.read(reading, _LENGTH.size))
    for each in (reading, opener):
        os.close(each)
    return False


def _receive(control: socket.socket) -> tuple[dict[str, Any], list[int]] | None:
    start, descriptors, _, _ = socket.recv_fds(control, _LENGTH.size, 3)
    if not start:
        return None
    (length,) = _LENGTH.unpack(start)
    text = bytearray()
    while len(text) < length:
        text += control.recv(length - len(text))
    return json.loads(text), descriptors


def _take_descriptors(descriptors: list[int], kept: int | None) -> None:
    # They have numbers above 2: this process has those three itself.
    for number, descriptor in enumerate(descriptors):
        os.dup2(descriptor, number)
    first = 3
    if kept is not None:
        os.closerange(first, kept)
        first = kept + 1
    os.closerange(first, max(map(int, os.listdir("/proc/self/fd"))) + 1)


def _run(request: dict[str, Any]) -> None:
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.chdir(request["directory"])
    os.environ.clear()
    os.environ.update(request["environment"])
    time.tzset()
    locale.setlocale(locale.LC_CTYPE, "")
    tempfile.tempdir = None
    sys.dont_write_bytecode = bool(os.environ.get("PYTHONDONTWRITEBYTECODE"))
    _open_streams()
    code = _ended(request["arguments"])
    if request["told"] is not None:
        os.write(request["told"], bytes([code]))
    os._exit(code)


def _ended(arguments: list[str]) -> int:
    """The exit code, after all that an interpreter does at its end but to take modules apart, which takes longest."""
    code: object = 0
    try:
        _run_program(arguments)
    except SystemExit as ended:
        code = ended.code
    except BaseException:
        sys.excepthook(*sys.exc_info())
        code = 1
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    gc.collect()
    if code is not None and not isinstance(code, int):
        sys.stderr.write(f"{code}\n")
        code = 1
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):
            stream.flush()
    return (code or 0) & 0xFF


def _run_program(arguments: list[str]) -> None:
    match arguments:
        case [sys.executable, "-m", module, *_]:
            sys.argv, sys.path[0] = arguments[2:], os.getcwd()
            runpy.run_module(module, run_name="__main__", alter_sys=True)
        case [script, *_]:
            sys.argv, sys.path[0] = arguments, os.path.dirname(script)
            runpy.run_path(script, run_name="__main__")


def _open_streams() -> None:
    names = ("LC_ALL", "LC_CTYPE", "LANG")
    known = next((os.environ[name] for name in names if os.environ.get(name)), "")
    errors = "surrogateescape" if known in _UNESCAPED else "strict"
    sys.stdin = sys.__stdin__ = _stream(0, "r", errors)  # type: ignore[misc]
    sys.stdout = sys.__stdout__ = _stream(1, "w", errors)  # type: ignore[misc]
    sys.stderr = sys.__stderr__ = _stream(2, "w", "backslashreplace")  # type: ignore[misc]


def _stream(number: int, mode: str, errors: str) -> io.TextIOWrapper:
    raw = open(number, f"{mode}b", closefd=False)  # noqa: SIM115  stays open as long as the process runs
    is_by_line = number == 2 or raw.isatty()
    is_unbuffered = bool(os.environ.get("PYTHONUNBUFFERED"))
    return io.TextIOWrapper(raw, "utf-8", errors, newline="\n", line_buffering=is_by_line, write_through=is_unbuffered)


if __name__ == "__main__":
    main()

"""Commands that tests start are forked from a process that has imported their modules (`tests/fork_server.py`).

An interpreter imports for half a second before `homeostat up` does anything, and the tests start thousands. After
`fork_commands`, `subprocess` and asyncio fork `HOMEOSTAT` and `python -m tests.NAME`. Such a command is a process of
its own and a child of this one, with its own arguments, environment, directory and descriptors, and runs the installed
script; signals, exit codes, pipes and terminals work as ever. In shells with `path_for_shells` as their PATH, the
command `homeostat` is a small program that asks for the same (`tests/forked_command.py`).

A test about the start itself (imports, memory, the command line in /proc) starts `FRESH` instead, an interpreter of its
own. Commands get one too until the server is ready, if their start asks for more (other limits, another session or
group), or if their environment has other variables of Python's own than this process.
"""

from __future__ import annotations

import atexit
import ctypes
import inspect
import json
import os
import resource
import socket
import struct
import subprocess
import sys
import threading
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final
from uuid import uuid4

HOMEOSTAT: Final = str(Path(sys.executable).with_name("homeostat"))
FRESH: Final = (sys.executable, HOMEOSTAT)

_SERVER: Final = Path(__file__).with_name("fork_server.py")
_COMMAND: Final = Path(__file__).with_name("forked_command.py")
_LENGTH: Final = struct.Struct("!I")
_ANSWER_WITHIN_S: Final = 60.0
_LIMITS: Final = (resource.RLIMIT_FSIZE, resource.RLIMIT_NOFILE, resource.RLIMIT_DATA, resource.RLIMIT_AS)
# The forked process minds these itself.
_TAKEN_LATER: Final = {"PYTHONDONTWRITEBYTECODE", "PYTHONUNBUFFERED"}
_PR_SET_CHILD_SUBREAPER: Final = 36
# What only a start of its own can give, and its value where nobody asked for it.
_USUAL: Final[Mapping[str, object]] = {
    **dict.fromkeys(("executable", "preexec_fn", "gid", "gids", "uid", "startupinfo")),
    **dict.fromkeys(("shell", "start_new_session"), False),
    **dict.fromkeys(("umask", "process_group"), -1),
    "pass_fds": (),
    "close_fds": True,
    "restore_signals": True,
}


class ForkServer:
    """Starts with the first command, which does not wait for it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._control: socket.socket | None = None
        self.is_ready = False
        self.address = f"homeostat-commands-{uuid4()}"
        self._limits: list[tuple[int, int]] = []
        self._variables: dict[str, str] = {}
        self._prctl = ctypes.CDLL(None).prctl

    def fork(self, start: Mapping[str, Any]) -> int | None:
        """The id of the process, or None for a start that needs an interpreter of its own."""
        environment = os.environ if start["env"] is None else start["env"]
        environment = {os.fsdecode(name): os.fsdecode(value) for name, value in environment.items()}
        directory = os.path.abspath(os.fsdecode(start["cwd"] or os.getcwd()))
        self.begin()
        with self._lock:
            if not self.is_ready or not self._can_be(environment) or not os.path.isdir(directory):
                return None
            request = {
                "arguments": [os.fsdecode(each) for each in start["args"]],
                "environment": environment,
                "directory": directory,
            }
            given = (start["p2cread"], start["c2pwrite"], start["errwrite"])
            return self._ask(request, [number if each == -1 else each for number, each in enumerate(given)])

    def begin(self) -> None:
        with self._lock:
            if self._control is None:
                self._control = self._begin()

    def _begin(self) -> socket.socket:
        ours, theirs = socket.socketpair()
        with theirs, socket.socket(socket.AF_UNIX) as listener:
            listener.bind(f"\0{self.address}")
            listener.listen()
            self._limits = [resource.getrlimit(each) for each in _LIMITS]
            self._variables = _of_python(os.environ)
            self._process = subprocess.Popen(
                [sys.executable, str(_SERVER), str(theirs.fileno()), str(listener.fileno())],
                pass_fds=(theirs.fileno(), listener.fileno()),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
            )
        threading.Thread(target=self._wait_until_ready, args=(ours,), daemon=True).start()
        return ours

    def _wait_until_ready(self, control: socket.socket) -> None:
        self.is_ready = len(control.recv(_LENGTH.size)) == _LENGTH.size

    def _can_be(self, environment: Mapping[str, str]) -> bool:
        words = [environment.get(name, "") for name in ("LANG", "LC_ALL", "LC_CTYPE")]
        return (
            _of_python(environment) == self._variables
            and [resource.getrlimit(each) for each in _LIMITS] == self._limits
            and all(each.upper().endswith(("UTF-8", "UTF8")) or each in {"", "C", "POSIX"} for each in words)
        )

    def _ask(self, request: object, descriptors: list[int]) -> int:
        assert self._control is not None
        text = json.dumps(request).encode()
        # Orphans are given to this process as long as it takes, and to no other time: tests count their processes.
        self._prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        try:
            socket.send_fds(self._control, [_LENGTH.pack(len(text))], descriptors)
            self._control.sendall(text)
            self._control.settimeout(_ANSWER_WITHIN_S)
            answer = self._control.recv(_LENGTH.size)
        finally:
            self._prctl(_PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0)
        assert len(answer) == _LENGTH.size, "the server that forks commands has ended"
        pid: int = _LENGTH.unpack(answer)[0]
        return pid


def _of_python(environment: Mapping[str, str]) -> dict[str, str]:
    """Variables that an interpreter reads when it starts."""
    return {
        name: value
        for name, value in environment.items()
        if name.startswith("PYTHON") and value and name not in _TAKEN_LATER
    }


SERVER: Final = ForkServer()


@cache
def path_for_shells() -> str:
    """The PATH of this process, with the command `homeostat` in front and the other programs beside it."""
    beside = f"{Path(HOMEOSTAT).parent}{os.pathsep}{os.environ['PATH']}"
    if sys.platform != "linux":
        return beside
    SERVER.begin()
    folder = TemporaryDirectory(prefix="homeostat-command-")
    atexit.register(folder.cleanup)
    script = Path(folder.name, "homeostat")
    call = f"sys.exit(main({SERVER.address!r}, {HOMEOSTAT!r}))"
    script.write_text(f"#!{sys.executable} -IS\n{_COMMAND.read_text()}\n\n{call}\n")
    script.chmod(0o755)
    return f"{folder.name}{os.pathsep}{beside}"


def fork_commands() -> None:
    """From now on, in this process; where the kernel has no subreapers, nothing changes."""
    if sys.platform != "linux":
        return
    start_afresh = subprocess.Popen._execute_child  # type: ignore[attr-defined]
    signature = inspect.signature(start_afresh)

    def start(self: subprocess.Popen[Any], *arguments: Any, **named: Any) -> None:
        given = signature.bind(self, *arguments, **named).arguments
        pid = SERVER.fork(given) if _is_command(given) else None
        if pid is None:
            start_afresh(self, *arguments, **named)
            return
        self.pid, self._child_created = pid, True  # type: ignore[attr-defined]
        ends = ("p2cread", "p2cwrite", "c2pread", "c2pwrite", "errread", "errwrite")
        self._close_pipe_fds(*(given[each] for each in ends))  # type: ignore[attr-defined]

    subprocess.Popen._execute_child = start  # type: ignore[attr-defined]


def _is_command(start: Mapping[str, Any]) -> bool:
    if not isinstance(start["args"], list | tuple) or not all(
        start.get(each, _USUAL[each]) == _USUAL[each] for each in _USUAL
    ):
        return False
    match [os.fspath(each) for each in start["args"]]:
        case [program, *_] if program == HOMEOSTAT:
            return True
        case [program, "-m", str(module), *_] if program == sys.executable:
            return module.startswith("tests.")
        case _:
            return False

"""Programs run to their end, within limits, and leave nothing behind."""

from __future__ import annotations

import asyncio
import os
import resource
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from homeostat.edge.loop import run
from homeostat.external.process import (
    OutputTooLargeError,
    Program,
    ProgramBusyError,
    ProgramMissingError,
    ProgramTimeoutError,
    run_program,
)
from homeostat.testing.eventually import eventually


def python(code: str, directory: Path, **options: object) -> Program:
    return Program(arguments=(sys.executable, "-c", code), directory=directory, **options)  # type: ignore[arg-type]


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return b") Z " not in Path(f"/proc/{pid}/stat").read_bytes()


async def test_stdin_stdout_stderr_and_the_exit_code_are_passed_on(tmp_path: Path) -> None:
    code = "import sys; print(sys.stdin.read().upper(), end=''); print('told', file=sys.stderr); sys.exit(3)"
    done = await run_program(python(code, tmp_path, stdin=b"hello"))
    assert (done.code, done.stdout, done.stderr) == (3, b"HELLO", b"told\n")


async def test_output_is_delivered_as_it_arrives(tmp_path: Path) -> None:
    told: list[tuple[str, bytes]] = []
    code = "import sys; print('out', flush=True); print('err', file=sys.stderr, flush=True); sys.stdin.read()"
    listening = {name: lambda chunk, name=name: told.append((name, chunk)) for name in ("on_stdout", "on_stderr")}
    done = await run_program(python(code, tmp_path, **listening))
    assert sorted(told) == [("on_stderr", b"err\n"), ("on_stdout", b"out\n")]
    assert (done.stdout, done.stderr) == (b"out\n", b"err\n")


async def test_a_program_gets_only_the_environment_that_it_is_given(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOKEN_OF_OURS", "secret")
    done = await run_program(python("import os; print(sorted(os.environ))", tmp_path, environment={"GIVEN": "1"}))
    names = eval(done.stdout)
    assert {"GIVEN", "HOME", "LANG", "PATH"} <= set(names) <= {"GIVEN", "HOME", "LANG", "PATH", "PWD", "LC_CTYPE"}


async def test_a_program_runs_in_its_directory(tmp_path: Path) -> None:
    (tmp_path / "here").touch()
    done = await run_program(python("import os; print(os.listdir())", tmp_path))
    assert done.stdout == b"['here']\n"


async def test_a_timeout_ends_the_program_and_its_children(tmp_path: Path) -> None:
    code = (
        "import subprocess, sys, time; "
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)']); "
        "open('pid', 'w').write(str(child.pid)); time.sleep(60)"
    )
    with pytest.raises(ProgramTimeoutError, match="timed out after 1 s"):
        await run_program(python(code, tmp_path, timeout_s=1, grace_s=1))
    pid = int((tmp_path / "pid").read_text())
    await eventually(lambda: not is_alive(pid))


async def test_a_program_that_ignores_the_stop_signal_is_killed(tmp_path: Path) -> None:
    code = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(60)"
    with pytest.raises(ProgramTimeoutError):
        await run_program(python(code, tmp_path, timeout_s=0.5, grace_s=0.2))


async def test_a_program_may_handle_the_stop_signal_and_exit(tmp_path: Path) -> None:
    code = (
        "import signal, sys, time\n"
        "def stop(*_): open('stopped', 'w').write('yes'); sys.exit(0)\n"
        "signal.signal(signal.SIGINT, stop); open('ready', 'w').close(); time.sleep(60)"
    )
    with pytest.raises(ProgramTimeoutError):
        await run_program(python(code, tmp_path, timeout_s=1.5, stop_signal=signal.SIGINT))
    assert (tmp_path / "stopped").read_text() == "yes"


async def test_a_cancelled_program_has_ended(tmp_path: Path) -> None:
    code = "import os, time; open('pid', 'w').write(str(os.getpid())); time.sleep(60)"
    task = asyncio.create_task(run_program(python(code, tmp_path)))
    written = tmp_path / "pid"
    pid = int(await eventually(lambda: written.exists() and written.read_text()))
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert not is_alive(pid)


async def test_a_program_that_is_cancelled_twice_has_ended_and_is_no_zombie(tmp_path: Path) -> None:
    code = (
        "import os, signal, time; signal.signal(15, lambda *_: open('asked', 'w').close());"
        "print(os.getpid(), flush=True); [time.sleep(1) for _ in range(60)]"
    )
    # Only a program whose output is read has a grace period: one that is cancelled while it starts is killed.
    printed: list[bytes] = []
    task = asyncio.create_task(run_program(python(code, tmp_path, grace_s=30.0, on_stdout=printed.append)))
    pid = int(b"".join(await eventually(lambda: printed)))
    task.cancel()
    await eventually((tmp_path / "asked").exists)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


async def test_children_that_a_program_leaves_behind_are_killed(tmp_path: Path) -> None:
    code = (
        "import subprocess, sys; "
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)'], "
        "stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL); print(child.pid)"
    )
    done = await run_program(python(code, tmp_path))
    await eventually(lambda: not is_alive(int(done.stdout)))


async def test_a_program_cannot_allocate_more_than_its_memory_limit(tmp_path: Path) -> None:
    done = await run_program(python("x = b'1' * (1 << 28)", tmp_path, memory_bytes=128 << 20))
    assert done.code != 0
    assert b"MemoryError" in done.stderr


async def test_a_program_cannot_write_a_larger_file_than_its_limit(tmp_path: Path) -> None:
    done = await run_program(
        Program(arguments=["tee", "large"], directory=tmp_path, stdin=b"x" * 4096, file_bytes=1024)
    )
    assert done.code != 0
    assert (tmp_path / "large").stat().st_size == 1024


async def test_a_program_that_prints_too_much_is_stopped(tmp_path: Path) -> None:
    with pytest.raises(OutputTooLargeError, match="more than 100000 bytes"):
        await run_program(python("while True: print('x' * 1000)", tmp_path, largest_output=100_000))


async def test_of_a_long_stderr_the_last_bytes_are_kept(tmp_path: Path) -> None:
    code = "import sys; sys.stderr.write('x' * 300000 + 'the end')"
    done = await run_program(python(code, tmp_path, largest_output=1000))
    assert len(done.stderr) == 1000
    assert done.stderr.endswith(b"the end")


async def test_the_error_names_a_missing_program(tmp_path: Path) -> None:
    with pytest.raises(ProgramMissingError, match='cannot start the program "no-such-program"'):
        await run_program(Program(arguments=("no-such-program",), directory=tmp_path))


@pytest.mark.parametrize("text", ["a\0b", "\ud800"], ids=["null", "surrogate"])
@pytest.mark.parametrize("place", ["arguments", "environment"])
async def test_a_text_that_no_program_can_get_is_an_error(tmp_path: Path, place: str, text: str) -> None:
    arguments, environment = (("true", text), {}) if place == "arguments" else (("true",), {"GIVEN": text})
    running = asyncio.create_task(
        run_program(Program(arguments=arguments, directory=tmp_path, environment=environment))
    )
    await asyncio.wait([running], timeout=10)
    assert running.done()
    assert isinstance(running.exception(), ValueError)


async def test_no_shell_interprets_the_arguments(tmp_path: Path) -> None:
    done = await run_program(Program(arguments=("echo", "$(id)", ";", "`id`", "'"), directory=tmp_path))
    assert done.stdout == b"$(id) ; `id` '\n"


ORPHAN = """
import asyncio, sys
from pathlib import Path
from homeostat.external.process import Program, run_program
here = Path(sys.argv[1])
code = "import time; open('started', 'w').close(); time.sleep(1.5)"
asyncio.run(run_program(Program(arguments=(sys.executable, "-c", code), directory=here, lock=here / "lock")))
"""


async def test_a_program_that_outlives_its_killed_starter_is_not_started_beside_itself(tmp_path: Path) -> None:
    starter = await asyncio.create_subprocess_exec(sys.executable, "-c", ORPHAN, str(tmp_path))
    await eventually((tmp_path / "started").exists)
    starter.kill()
    await starter.wait()
    again = Program(arguments=("true",), directory=tmp_path, lock=tmp_path / "lock")
    with pytest.raises(ProgramBusyError, match="is still running"):
        await run_program(again)

    async def runs() -> bool:
        return (await run_program(again)).code == 0

    await eventually(runs)


async def test_the_lock_is_released_when_the_program_ends(tmp_path: Path) -> None:
    program = Program(arguments=("true",), directory=tmp_path, lock=tmp_path / "lock")
    assert [(await run_program(program)).code for _ in range(2)] == [0, 0]


def test_a_program_need_not_read_its_stdin_on_either_event_loop(tmp_path: Path) -> None:
    """Under uvloop a pipe that the program has closed already refuses in a way of its own."""

    async def often() -> list[bytes]:
        program = Program(arguments=("/bin/echo", "hi"), directory=tmp_path, stdin=b"x" * 300_000)
        return [(await run_program(program)).stdout for _ in range(30)]

    assert run(often()) == asyncio.run(often()) == [b"hi\n"] * 30


def test_a_program_that_prints_without_end_holds_nobody_up_on_either_event_loop(tmp_path: Path) -> None:
    async def turns() -> int:
        counted = 0
        running = asyncio.create_task(
            run_program(Program(arguments=["sh", "-c", "yes >&2"], directory=tmp_path, timeout_s=0.5))
        )
        while not running.done():
            await asyncio.sleep(0)
            counted += 1
        with pytest.raises(ProgramTimeoutError):
            await running
        return counted

    assert min(asyncio.run(turns()), run(turns())) > 100


def test_a_start_does_not_copy_this_process(tmp_path: Path) -> None:
    """After a fork, every page that this process writes to is a fault: some 400 for each start."""
    program = Program(arguments=["true"], directory=tmp_path)

    async def faults() -> int:
        await run_program(program)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
        for _ in range(10):
            await run_program(program)
        return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

    assert run(faults()) < 1000


async def test_a_program_that_gets_no_thread_is_an_error_of_the_system(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refuse)
    with pytest.raises(OSError, match="can't start new thread"):
        await run_program(python("", tmp_path))


async def test_whatever_happens_at_the_start_reaches_the_caller(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise MemoryError

    monkeypatch.setattr(subprocess, "Popen", fail)
    async with asyncio.timeout(5):
        with pytest.raises(MemoryError):
            await run_program(python("", tmp_path))

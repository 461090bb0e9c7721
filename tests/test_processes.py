"""A command that is forked is a process like one that was started: `tests/processes.py`."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.processes import FRESH, HOMEOSTAT, SERVER, path_for_shells

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="commands are forked on Linux only")
_FACTS = (sys.executable, "-m", "tests.process_facts")


@pytest.fixture(autouse=True, scope="module")
def forking() -> None:
    """The first command starts the server, and does not wait for it."""
    subprocess.run([HOMEOSTAT, "version"], check=True, timeout=60, stdout=subprocess.DEVNULL)
    ends_at = time.monotonic() + 60
    while not SERVER.is_ready:
        assert time.monotonic() < ends_at
        time.sleep(0.05)


def facts_of(*arguments: str, **options: Any) -> tuple[Any, subprocess.CompletedProcess[str]]:
    done = subprocess.run([*_FACTS, *arguments], capture_output=True, text=True, timeout=60, **options)
    return json.loads(done.stdout), done


def test_it_has_the_arguments_environment_and_streams_that_were_asked_for() -> None:
    environment = {"PYTHONPATH": os.environ["PYTHONPATH"], "LANG": "C.UTF-8", "WORD": "ü"}
    facts, done = facts_of("a", "b c", env=environment, input="given")
    assert "fork_server" in facts["command"]
    assert (facts["arguments"], facts["environment"], facts["input"]) == (["a", "b c"], environment, "given")
    assert (facts["parent"], facts["directory"]) == (os.getpid(), os.getcwd())
    assert facts["descriptors"] == [0, 1, 2]
    assert (done.stderr, done.returncode) == ("ended\n", 1)


def test_no_two_have_the_same_identity_or_random_numbers() -> None:
    one, other = (facts_of(stdin=subprocess.DEVNULL)[0] for _ in range(2))
    assert one["identity"] != other["identity"]
    assert one["random"] != other["random"]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
async def test_a_signal_ends_it_and_asyncio_sees_its_end(number: signal.Signals) -> None:
    process = await asyncio.create_subprocess_exec(*_FACTS, stdin=subprocess.PIPE)
    process.send_signal(number)
    assert await process.wait() == -number


def test_other_variables_of_the_interpreter_need_a_start_of_its_own() -> None:
    environment = {**os.environ, "PYTHONUTF8": "1"}
    assert "fork_server" not in facts_of(stdin=subprocess.DEVNULL, env=environment)[0]["command"]


def test_a_test_may_ask_for_an_interpreter_of_its_own() -> None:
    done = subprocess.run([*FRESH, "version"], capture_output=True, text=True, timeout=60)
    assert done.stdout.startswith("homeostat ")


def in_a_shell(line: str, **options: Any) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PATH": path_for_shells()}
    return subprocess.run(["bash", "-c", line], env=environment, capture_output=True, text=True, timeout=60, **options)


def test_a_command_of_a_shell_is_forked_with_its_streams_and_ends_with_its_code(tmp_path: Path) -> None:
    # An interpreter that starts would write what it imports, and no forked one does.
    done = in_a_shell("export PYTHONPROFILEIMPORTTIME=1; homeostat version | cat; homeostat odd 2>wrong", cwd=tmp_path)
    assert done.stdout.startswith("homeostat ")
    assert (done.returncode, done.stderr) == (2, "")
    assert "odd" in (tmp_path / "wrong").read_text()


def test_a_command_of_a_shell_is_ended_by_a_signal(tmp_path: Path) -> None:
    serve = f"homeostat up --data {tmp_path / 'data'} --port 0 --faces-port 0 --operators none > told"
    wait = "until grep -q https told; do sleep 0.05; done"
    done = in_a_shell(f"{serve} & {wait}; kill $!; wait $!; echo ended $?", cwd=tmp_path)
    assert done.stdout == "ended 0\n", done.stderr

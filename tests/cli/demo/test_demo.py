"""The demo as a user runs it: every fault is there, and the commands of docs/demo.md fix it."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from homeostat.cli.demo.demo import is_free
from homeostat.operators.sync.api.policy import REQUESTED
from tests.cli.demo.starting import WITHIN_S, running_demo
from tests.cli.running import HOMEOSTAT, Cli
from tests.docs.documents import ROOT
from tests.processes import FRESH

_commands = re.compile(r"^homeostat (?!demo).*$", re.MULTILINE)


class Demo:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._cli = Cli({**os.environ, "HOMEOSTAT_DATA": str(folder / "homeostat-demo" / "plane")})

    def run(self, *arguments: str) -> str:
        done = self._cli.here(*arguments)
        assert done.code == 0, done.err
        return done.out

    def status(self, kind: str, name: str) -> Any:
        return (
            json.loads(self.run("get", kind, name, "-n", "default" if kind == "mailbox" else "shop", "-o", "json")).get(
                "status"
            )
            or {}
        )

    def eventually(self, kind: str, name: str, holds: Callable[[Any], object]) -> None:
        deadline = time.monotonic() + WITHIN_S
        while not holds(status := self.status(kind, name)):
            assert time.monotonic() < deadline, f"{kind} {name}: {status}"
            time.sleep(0.2)


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Demo]:
    folder = tmp_path_factory.mktemp("demo")
    with running_demo(folder):
        yield Demo(folder)


def test_five_faults_show_and_the_commands_of_the_page_fix_them(demo: Demo, monkeypatch: pytest.MonkeyPatch) -> None:
    demo.eventually("pacto", "orders", lambda status: status.get("contractStatus") == "NonCompliant")
    demo.eventually("syncpolicy", "topics", lambda status: "/topics/payments" in str(status.get("resources")))
    demo.eventually("imageupdate", "web", lambda status: "prices were wrong" in str(status.get("result")))
    demo.eventually("devopspolicy", "shop", lambda status: status.get("violations") == 3)
    demo.eventually("mailbox", "support", lambda status: "sizeMB is 5000" in str(status.get("message")))
    assert "WorkloadExists" not in demo.run("get", "events", "-n", "shop"), "no fault but the five"

    monkeypatch.chdir(demo.folder)
    for command in _commands.findall((ROOT / "docs" / "demo.md").read_text("utf-8")):
        demo.run(*command.split()[1:])

    demo.eventually("pacto", "orders", lambda status: status["contractStatus"] == "Compliant")
    demo.eventually("syncpolicy", "topics", lambda status: status.get("drifted") == 0)
    # The sync that repaired the topic lists it. The next one would come after a minute.
    demo.run("annotate", "syncpolicy", "topics", "-n", "shop", f"{REQUESTED}=now")
    demo.eventually("syncpolicy", "topics", lambda status: not status.get("resources"))
    demo.eventually("imageupdate", "web", lambda status: status.get("history"))
    demo.eventually("devopspolicy", "shop", lambda status: status["violations"] == 0)
    demo.eventually("mailbox", "support", lambda status: status["phase"] == "ready")


def test_what_the_demo_prints_can_be_typed(demo: Demo) -> None:
    whole, _, printed = (demo.folder / "log").read_text("utf-8").partition("in another terminal:")
    (authority,) = re.findall(r"^ +import (.*ca\.crt)$", whole, re.MULTILINE)
    assert "BEGIN CERTIFICATE" in Path(authority).read_text("utf-8")
    (token,) = re.findall(r"^ +\S*homeostat (token create .*)\)$", whole, re.MULTILINE)
    (exports,) = re.findall(r"^ +export (.*)$", printed, re.MULTILINE)
    own = dict(each.split("=", 1) for each in exports.split())
    cli = Cli({**{name: value for name, value in os.environ.items() if name != "HOMEOSTAT_DATA"}, **own})
    typed = [line.split() for line in re.findall(r"^ +(?:find  )?homeostat (.*)$", printed, re.MULTILINE)]
    found = [each for each in typed if each[:2] != ["image", "update"]]
    fixes = re.findall(r"fix  homeostat (?:resource )?apply -f (\S+)", printed)
    assert (len(found), len(fixes)) == (6, 4)
    for each in (*found, token.split(), ["token", "list"], *(["diff", "-f", fix] for fix in fixes)):
        done = cli.here(*each)
        # Policies and differences have exit codes of their own.
        assert done.code == 0 or each[0] in ("policy", "diff"), done.err
        assert not done.err.startswith("error"), done.err


def test_top_shows_what_simulated_pods_use(demo: Demo) -> None:
    pod = json.loads(demo.run("get", "pods", "-n", "shop", "-l", "app=orders", "-o", "json"))["items"][0]
    name = pod["metadata"]["name"]
    demo.run("annotate", "pod", name, "-n", "shop", "simulation.homeostat.dev/use=cpu=80m,memory=64Mi")
    deadline = time.monotonic() + WITHIN_S
    while not (shown := [line.split() for line in demo.run("top", "pods", "-n", "shop").splitlines()]):
        assert time.monotonic() < deadline
        time.sleep(0.2)
    assert shown == [["NAME", "CPU(cores)", "MEMORY(bytes)"], [name, "80m", "64Mi"]]
    detailed = demo.run("top", "po", "-A", "--containers", "--sort-by", "cpu").splitlines()[1].split()
    assert detailed == ["shop", name, pod["spec"]["containers"][0]["name"], "80m", "64Mi"]
    nodes = [line.split() for line in demo.run("top", "nodes").splitlines()]
    assert [each[0] for each in nodes] == ["NAME", "node-1", "node-2"]
    assert sorted(each[1] for each in nodes[1:]) == ["0m", "80m"]


def test_a_second_demo_leaves_the_directory_of_the_first_alone(demo: Demo) -> None:
    done = subprocess.run([HOMEOSTAT, "demo"], cwd=demo.folder, capture_output=True, text=True, timeout=60)
    assert done.returncode == 1
    assert "another demo runs in" in done.stderr
    assert demo.status("mailbox", "support")


def test_a_port_that_is_in_use_is_not_chosen_and_refused_before_anything_starts(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        assert not is_free(port)
        refused = cli.here("demo", "--faces-port", str(port))
    assert is_free(port)
    assert (refused.code, refused.out) == (1, "")
    assert f"127.0.0.1:{port} is in use; choose another port with --faces-port" in refused.err
    assert not (tmp_path / "homeostat-demo").exists()


def test_ctrl_c_before_everything_runs_ends_the_demo_without_an_error(tmp_path: Path) -> None:
    log = tmp_path / "log"
    with log.open("wb") as output:
        command = [HOMEOSTAT, "demo", "--faces-port", "0"]
        process = subprocess.Popen(
            command, cwd=tmp_path, stdout=output, stderr=subprocess.STDOUT, start_new_session=True
        )
    deadline = time.monotonic() + WITHIN_S
    while "namespace/shop created" not in log.read_text("utf-8"):
        assert process.poll() is None, log.read_text("utf-8")
        assert time.monotonic() < deadline, log.read_text("utf-8")
        time.sleep(0.01)
    # A terminal sends the signal to all processes of the command.
    os.killpg(process.pid, signal.SIGINT)
    assert process.wait(30) == 0, log.read_text("utf-8")
    assert "error" not in log.read_text("utf-8")
    assert not (tmp_path / "homeostat-demo").exists()


def test_the_plane_of_a_killed_demo_ends(tmp_path: Path) -> None:
    log = tmp_path / "log"
    with log.open("wb") as output:
        command = [*FRESH, "demo", "--faces-port", "0"]
        process = subprocess.Popen(command, cwd=tmp_path, stdout=output, stderr=subprocess.STDOUT)
    _wait(lambda: "end it" in log.read_text("utf-8"))
    port = int(re.findall(r"https://127\.0\.0\.1:(\d+)", log.read_text("utf-8"))[0])
    process.kill()
    process.wait()
    _wait(lambda: is_free(port))


def _wait(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + WITHIN_S
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_a_directory_with_other_files_is_refused_and_unchanged(tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("kept")
    done = subprocess.run([HOMEOSTAT, "demo", "--directory", str(tmp_path)], capture_output=True, text=True, timeout=60)
    assert done.returncode == 1
    assert "is not empty" in done.stderr
    assert (tmp_path / "mine").read_text() == "kept"

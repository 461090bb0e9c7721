"""What a person sees who follows resources, in a pipe and on a terminal."""

from __future__ import annotations

import os
import pty
import select
import signal
import subprocess
import time
from pathlib import Path

import msgspec

from homeostat.cli.console.live import table_of
from homeostat.cli.resource.watch import VIEW
from tests.cli.resource.applying import applied
from tests.cli.running import HOMEOSTAT, Cli
from tests.cli.shelf import Shelf, crate


def test_resources_are_followed_row_by_row(typed: Cli, shelf: Shelf) -> None:
    applied(typed, crate("one"))
    process = typed.start("resource", "watch", "Crate", "-A")
    try:
        assert process.stdout is not None
        heading, first = process.stdout.readline().split(), process.stdout.readline().split()
        assert heading == ["EVENT", "NAMESPACE", "TYPE", "NAME", "PHASE", "FOR", "MESSAGE", "RUN"]
        assert first[:5] == ["ADDED", "default", "Crate", "one", "ready"]
        typed.here("resource", "delete", "crate/one")
        events = [process.stdout.readline().split() for _ in range(3)]
        assert "deleting" in {row[4] for row in events}
    finally:
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=30)
    assert process.returncode == 130


def on_terminal(cli: Cli, *arguments: str, until: str, within_s: float = 30.0) -> tuple[int, str]:
    """What a person sees; Ctrl-C once they have seen `until`, unless it has ended by itself."""
    master, slave = pty.openpty()
    environment = {**cli.environment, "TERM": "xterm", "COLUMNS": "120", "LINES": "40"}
    process = subprocess.Popen([HOMEOSTAT, *arguments], env=environment, stdin=slave, stdout=slave, stderr=slave)
    os.close(slave)
    seen, deadline = "", time.monotonic() + within_s
    try:
        while until not in seen:
            assert time.monotonic() < deadline, seen
            if select.select([master], [], [], 0.1)[0]:
                seen += os.read(master, 65536).decode(errors="replace")
        process.send_signal(signal.SIGINT)
        return process.wait(30), seen
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()
        os.close(master)


def test_a_person_is_shown_the_run_while_it_is_under_way(typed: Cli, shelf: Shelf, tmp_path: Path) -> None:
    shelf.slow_s = 1.0
    path = tmp_path / "one.json"
    path.write_bytes(msgspec.json.encode(crate("one")))
    _, seen = on_terminal(typed, "resource", "apply", "-f", str(path), until="crate/one is ready")
    assert "crate/one reconciling: Running: apply (" in seen


def test_a_person_sees_a_table_that_lives(typed: Cli, shelf: Shelf) -> None:
    applied(typed, crate("one"), crate("two"))
    code, seen = on_terminal(typed, "resource", "watch", until="two")
    assert code == 130
    assert "PHASE" in seen


def test_a_table_that_lives_is_no_longer_than_the_terminal_and_shows_trouble_first() -> None:
    phases = ["ready"] * 10_000 + ["failed", "reconciling"]
    objects = [
        {"kind": "Crate", "metadata": {"namespace": "default", "name": f"c-{at}"}, "status": {"phase": phase}}
        for at, phase in enumerate(phases)
    ]
    table = table_of(VIEW, objects, 0.0, most=5)
    assert (table.row_count, table.caption) == (5, "and 9997 more")
    assert [str(each) for each in table.columns[3].cells][:3] == ["failed", "reconciling", "ready"]

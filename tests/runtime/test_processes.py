"""Replicas that are processes: one that is held up or killed is replaced, and what it was at is no longer its own."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.runtime.replica import MARKS
from tests.served import ServedPlane, serve_plane

ROOT = Path(__file__).parents[2]
WITHIN_S = 30.0


class Replica:
    """`acts` are the moments at which it wrote."""

    def __init__(self, plane: ServedPlane, name: str) -> None:
        command = [sys.executable, "-m", "tests.runtime.replica", str(plane.kubeconfig), name]
        self.process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
        self.acts: list[float] = []
        self.reader = threading.Thread(target=self._read)
        self.reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.acts.append(float(line))

    def acts_after(self, moment: float, *, within_s: float) -> float:
        """When it first acted since then."""
        deadline = time.monotonic() + within_s
        while True:
            if self.acts and self.acts[-1] > moment:
                return next(each for each in self.acts if each > moment)
            assert time.monotonic() < deadline, f"it did not act within {within_s:g} s"
            time.sleep(0.01)

    def end(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.reader.join()
        assert self.process.stdout is not None
        self.process.stdout.close()


@contextmanager
def replica(plane: ServedPlane, name: str) -> Iterator[Replica]:
    replica = Replica(plane, name)
    try:
        yield replica
    finally:
        replica.end()


def test_a_leader_that_was_held_up_writes_nothing_when_it_continues_and_may_lead_again(tmp_path: Path) -> None:
    with serve_plane(tmp_path / "data") as plane, replica(plane, "first") as first:
        plane.ask("POST", MARKS, {"metadata": {"name": "mark"}})
        first.acts_after(0, within_s=30)
        with replica(plane, "second") as second:
            time.sleep(1.5)
            assert second.acts == []
            held_at = time.monotonic()
            first.process.send_signal(signal.SIGSTOP)
            taken_at = second.acts_after(held_at, within_s=WITHIN_S)
            first.process.send_signal(signal.SIGCONT)
            time.sleep(1.0)
            assert max(first.acts) < taken_at
            assert plane.ask("GET", f"{MARKS}/mark")["data"] == {"by": "second"}
            killed_at = time.monotonic()
            second.process.kill()
            again_at = first.acts_after(killed_at, within_s=WITHIN_S)
            second.process.wait()
        assert max(second.acts) < again_at
        first.process.send_signal(signal.SIGTERM)
        assert first.process.wait(30) == 0

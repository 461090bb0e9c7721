"""Starts a demo as a user does, and ends it with Ctrl-C."""

from __future__ import annotations

import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.cli.running import HOMEOSTAT

WITHIN_S = 60.0


@contextmanager
def running_demo(folder: Path) -> Iterator[Path]:
    """The file with what it prints, once everything runs."""
    log = folder / "log"
    with log.open("wb") as output:
        command = [HOMEOSTAT, "demo", "--faces-port", "0"]
        process = subprocess.Popen(command, cwd=folder, stdout=output, stderr=subprocess.STDOUT)
        try:
            deadline = time.monotonic() + WITHIN_S
            while "five things are wrong" not in log.read_text("utf-8"):
                assert process.poll() is None, log.read_text("utf-8")
                assert time.monotonic() < deadline, log.read_text("utf-8")
                time.sleep(0.1)
            yield log
        finally:
            process.send_signal(signal.SIGINT)
            assert process.wait(30) == 0
    assert not (folder / "homeostat-demo").exists()
    assert log.read_text("utf-8").endswith(f"Stopped the demo; removed {folder / 'homeostat-demo'}\n")

"""Failed tests of a full run are run again, alone: what passes then is named, and what fails again fails the run."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

_UNSTABLE = """
from pathlib import Path

def test_first_time_only():
    marker = Path("ran")
    is_first = not marker.exists()
    marker.touch()
    assert not is_first
"""
_BROKEN = "def test_never():\n    assert 1 == 2\n"


def _rerun(directory: Path, text: str) -> subprocess.CompletedProcess[str]:
    (directory / "test_it.py").write_text(text)
    first = _python(directory, "pytest", "-q", "-p", "no:xdist", "test_it.py")
    assert first.returncode == 1, first.stdout
    return _python(directory, "tools.rerun_failed", "1")


def _python(directory: Path, *words: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2]), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    command = (sys.executable, "-m", *words)
    return subprocess.run(
        command, cwd=directory, env=environment, capture_output=True, text=True, timeout=60, check=False
    )


def test_a_test_that_passes_alone_is_named_as_unstable(tmp_path: Path) -> None:
    done = _rerun(tmp_path, _UNSTABLE)
    assert (done.returncode, done.stdout.splitlines()[-1].split(" failed")[0]) == (
        0,
        "unstable: test_it.py::test_first_time_only",
    )


def test_a_test_that_fails_again_fails_the_run(tmp_path: Path) -> None:
    done = _rerun(tmp_path, _BROKEN)
    assert done.returncode == 1
    assert "unstable" not in done.stdout


def test_many_failures_are_not_run_again(tmp_path: Path) -> None:
    done = _rerun(tmp_path, "\n".join(_BROKEN.replace("never", f"never_{number}") for number in range(4)))
    assert (done.returncode, done.stdout) == (1, "")

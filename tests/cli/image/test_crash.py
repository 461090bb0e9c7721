"""kill -9 at each step of an update: the commit is pushed once, and never taken for one of a person."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.image.test_image import _PATH, _scene
from tests.cli.running import make_cli, running

_OPTIONS = ("--open", "--operators", "images", "--images-interval", "0", "--images-allow-file")


def _await(what: str, holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 30
    while not holds():
        assert time.monotonic() < deadline, f"timed out after 20 s: {what}"
        time.sleep(0.02)


def _is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


@pytest.mark.parametrize("hook", ["pre-receive", "post-receive"])
def test_a_commit_is_pushed_once_across_a_crash(hook: str, tmp_path: Path) -> None:
    cli = make_cli(tmp_path / "plane" / "data")
    mark, go = tmp_path / "reached", tmp_path / "go"
    with running(cli, *_OPTIONS) as up:
        app, manifests = _scene(cli, tmp_path)
        script = manifests.path / ".git" / "hooks" / hook
        script.parent.mkdir(exist_ok=True)
        # Before or after the branch has moved. The receiving process outlives the operator and waits, 20 s at most.
        wait = f"n=0; while [ ! -e {go} ] && [ $n -lt 400 ]; do n=$((n+1)); sleep 0.05; done"
        script.write_text(f"#!/bin/sh\necho $PPID > {mark}.part\nmv {mark}.part {mark}\n{wait}\n")
        script.chmod(0o755)
        waiting = cli.start("image", "update", "default/web", "--timeout", "30")
        _await("the hook to run", mark.exists)
        up.process.send_signal(signal.SIGKILL)
        up.process.wait(30)
        waiting.kill()
        waiting.communicate()
    script.unlink()
    # The push that was cut off has to end before its branch is read.
    go.touch()
    receiving = int(mark.read_text())
    _await("the push to end", lambda: not _is_running(receiving))
    with running(cli, *_OPTIONS):
        done = cli("image", "update", "default/web")
        assert done.code == 0, done.out + done.err
        assert done.out.split(":")[1].strip() in ("patched", "up_to_date")
        assert manifests.log("%s").count("chore(refs): gitops-operator updating image tags") == 1
        newer = app.push({"main.go": "package newer\n"})
        assert "patched" in cli("image", "update", "default/web").out
        assert newer in manifests.show(_PATH)

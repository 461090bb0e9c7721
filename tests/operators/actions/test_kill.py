"""Processes that are killed, each some writes later than the one before it, do everything once in the end."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from homeostat.plane import Settings, open_plane
from tests.operators.actions.mortal import FilePlugin
from tests.operators.actions.things import Things, managed

KILLED = -9
_MOST = 20


def last_life(data: Path, first: int) -> int:
    """Processes one after the other, each killed two writes later than the one before; how many the last one made."""
    for writes in range(first, _MOST, 2):
        command = [sys.executable, "-m", "tests.operators.actions.mortal", str(data), str(writes)]
        ended = subprocess.run(command, timeout=50, capture_output=True, text=True)
        if ended.returncode != KILLED:
            assert ended.returncode == 0, ended.stderr
            return writes
    raise AssertionError(f"it takes more than {_MOST} writes")


async def test_what_is_done_is_done_once_whenever_the_process_is_killed(tmp_path: Path) -> None:
    things = Things("shelf", {}, tmp_path / "work", shelf=FilePlugin(tmp_path / "effects"))
    settings = Settings(data=tmp_path / "plane", port=0, is_open=True, operators=frozenset())
    async with open_plane(settings) as plane:
        async with managed(plane.client, things):
            pass
        await plane.client.create(things.path(), things.thing("one"))
    assert last_life(tmp_path, 1) > 4
    assert (tmp_path / "effects").read_text() == "one=hello\n"

    async with open_plane(settings) as plane:
        await plane.client.delete(things.path("one"))
    assert last_life(tmp_path, 2) > 3
    assert (tmp_path / "effects").read_text() == "one=hello\none=\n"

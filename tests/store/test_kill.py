"""An acknowledged write is on disk before the answer: killed at any moment, the store has all it answered for."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from homeostat.store.sqlite import SqliteStore
from tests.store.contract import pod, put
from tests.store.load import WRITERS

ROOT = Path(__file__).parents[2]


async def answered_before_a_kill(path: Path, after_s: float) -> dict[str, tuple[int, str]]:
    """The last answer for each name."""
    writing = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "tests.store.load", str(path), stdout=subprocess.PIPE, cwd=ROOT
    )
    assert writing.stdout is not None
    lines = [await writing.stdout.readline()]
    asyncio.get_running_loop().call_later(after_s, writing.kill)
    lines += (await writing.stdout.read()).splitlines(keepends=True)
    await writing.wait()
    assert writing.returncode == -9
    answers: dict[str, tuple[int, str]] = {}
    for line in lines:
        if line.endswith(b"\n"):
            name, revision, text = line.decode().split()
            answers[name] = max(answers.get(name, (0, "")), (int(revision), text))
    return answers


def promised(revision: int, text: str) -> bytes | None:
    return None if text == "gone" else f"<{revision}:{text * 200}>".encode()


def current(store: SqliteStore, name: str) -> bytes | None:
    found = store.get(pod(name))
    return found.value if found is not None else None


@pytest.mark.parametrize("after_s", [0.05, 0.3, 0.8])
async def test_a_killed_store_has_every_write_it_answered_for(tmp_path: Path, after_s: float) -> None:
    path = tmp_path / "plane.db"
    answers = await answered_before_a_kill(path, after_s)
    store = await SqliteStore.open(path)

    assert len(answers) > WRITERS / 2
    assert store.revision >= max(revision for revision, _ in answers.values())
    otherwise = {name for name, answer in answers.items() if current(store, name) != promised(*answer)}
    # What was written but not answered for may be there: the one change that each writer had on its way.
    assert max(Counter(name.partition("-")[0] for name in otherwise).values(), default=0) <= 1
    assert all((found := store.get(pod(name))) is None or found.revision > answers[name][0] for name in otherwise)
    assert (await put(store, pod("after"), "1")).revision == store.revision
    await store.close()

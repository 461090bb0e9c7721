"""Processes are killed between every two steps of a resource's life, and everything is done once in the end."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from tests.operators.actions.killed_process import Aftermath
from tests.postgres import Postgres, running_postgres


@pytest.fixture
def postgres() -> Iterator[Postgres]:
    with running_postgres() as server:
        yield server


def lives(folder: Path, *arguments: str) -> list[Aftermath]:
    command = [sys.executable, "-m", "tests.operators.actions.killed_process", str(folder), *arguments]
    ended = subprocess.run(command, timeout=110, capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr
    return [msgspec.json.decode(line, type=Aftermath) for line in ended.stdout.splitlines()]


def effects(told: Aftermath) -> list[str]:
    """Without the tickets of runs."""
    return [each.rpartition(" ")[2] for each in told.effects]


@pytest.mark.parametrize("plugin", ["shelf", "yard"])
def test_what_is_done_is_done_once_whenever_the_process_is_killed(plugin: str, tmp_path: Path) -> None:
    told = lives(tmp_path, plugin)
    assert [each.moment for each in told if each.is_killed] == list(range(1, len(told)))
    # Finalizer, run, effect, receipt, entry, status, Ready; run, effect, receipt, room, entry, status, finalizer.
    assert len(told) > 14
    for each in told:
        assert effects(each) == ["one=hello", "one="], each
        assert each.entries == [("deletion", True)], each


def test_the_same_on_postgres_for_one_resource_that_is_killed_all_its_life(tmp_path: Path, postgres: Postgres) -> None:
    (told,) = lives(tmp_path, "yard", postgres.url)
    assert told.moment > 5
    assert effects(told) == ["one=hello", "one="]
    assert told.entries == [("deletion", True)]

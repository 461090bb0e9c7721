from __future__ import annotations

import pytest

from homeostat.operators.images.engine.build import Build, Run, build_of

_RUNNING, _QUEUED = Run("in_progress", ""), Run("queued", "")
_GOOD, _BAD = Run("completed", "success"), Run("completed", "failure")


@pytest.mark.parametrize(
    ("runs", "build"),
    [
        ([_RUNNING, _GOOD], Build.RUNNING),
        ([_QUEUED], Build.QUEUED),
        ([Run("waiting", ""), _BAD], Build.QUEUED),
        ([_GOOD, _GOOD], Build.COMPLETED),
        ([_BAD], Build.FAILED),
        ([Run("completed", "cancelled"), Run("completed", "timed_out")], Build.FAILED),
        ([_BAD, _GOOD], Build.COMPLETED),
        ([_RUNNING, _BAD], Build.RUNNING),
        ([Run("completed", "skipped")], Build.COMPLETED),
        ([Run("something new", "")], Build.NOT_FOUND),
        ([], Build.NOT_FOUND),
    ],
)
def test_the_runs_of_a_commit_give_one_state(runs: list[Run], build: Build) -> None:
    assert build_of(runs) is build
    assert build_of(reversed(runs)) is build

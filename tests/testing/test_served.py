"""A plane for tests does not hide its own failure, and leaves nothing behind."""

from __future__ import annotations

import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from homeostat.plane import Plane, Settings, open_plane
from homeostat.testing import served
from homeostat.testing.served import served_plane


@asynccontextmanager
async def failing(settings: Settings) -> AsyncIterator[Plane]:
    async with open_plane(settings) as plane:
        yield plane
    raise OSError("the disk is full")


def test_a_plane_that_fails_fails_the_test_and_a_namespace_may_be_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(served, "open_plane", failing)
    block = served_plane(tmp_path)
    plane = block.__enter__()
    with plane.namespace() as kubernetes:
        plane.call(plane.client.delete(f"/api/v1/namespaces/{kubernetes.namespace}"))
    with pytest.raises(OSError, match="the disk is full"):
        block.__exit__(None, None, None)
    plane.stop()  # The error is raised once.


def test_a_plane_that_starts_too_slowly_leaves_no_thread(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(served, "_START_WITHIN_S", 0.0)
    before = set(threading.enumerate())
    with pytest.raises(TimeoutError, match="did not serve within"), served_plane(tmp_path):
        pass
    assert not [each for each in set(threading.enumerate()) - before if each.name == "homeostat-plane"]

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from homeostat.external.git.access import Remote
from homeostat.operators.sync.engine.errors import ConflictError, NotFoundError, ValidationError
from homeostat.operators.sync.repository.git import Status, WorkingTree


@pytest.fixture
def bare(tmp_path: Path) -> Path:
    path = tmp_path / "remote.git"
    subprocess.run(["git", "init", "-q", "--bare", "-b", "main", str(path)], check=True)
    return path


async def made(base: Path, remote: Remote | None = None) -> WorkingTree:
    tree = WorkingTree(base, remote=remote)
    await tree.init()
    (base / "a.txt").write_text(base.name)
    assert await tree.commit("first", ["a.txt"])
    return tree


async def test_a_commit_is_pushed_and_status_says_so(tmp_path: Path, bare: Path) -> None:
    tree = await made(tmp_path / "work", Remote(f"file://{bare}"))
    await tree.push()
    assert await tree.status() == Status("up_to_date")
    (tmp_path / "work" / "a.txt").write_text("2")
    assert (await tree.status()).has_uncommitted
    await tree.commit("second")
    assert await tree.status() == Status("ahead", 1, 0)


async def test_a_push_that_would_lose_commits_is_refused_unless_forced(tmp_path: Path, bare: Path) -> None:
    remote = Remote(f"file://{bare}")
    await (await made(tmp_path / "one", remote)).push()
    other = await made(tmp_path / "two", remote)
    (tmp_path / "two" / "b.txt").write_text("x")
    await other.commit("other")
    with pytest.raises(ConflictError):
        await other.push()
    await other.fetch()
    assert (await other.status()).state == "diverged"
    await other.push(is_forced=True)
    assert (await other.status()).state == "up_to_date"


async def test_a_remote_without_the_branch_is_reported_as_such(tmp_path: Path, bare: Path) -> None:
    tree = await made(tmp_path / "work", Remote(f"file://{bare}"))
    with pytest.raises(NotFoundError, match="run `repository refresh` first"):
        await tree.reset(is_hard=True)
    with pytest.raises(NotFoundError, match='the remote has no branch "main"'):
        await tree.fetch()


async def test_nothing_to_commit_is_no_commit(tmp_path: Path) -> None:
    tree = await made(tmp_path / "work")
    assert not await tree.commit("again")
    assert (await tree.status()).state == "no_remote"
    with pytest.raises(ValidationError):
        await tree.push()


async def test_hooks_of_the_repository_do_not_run(tmp_path: Path) -> None:
    tree = await made(tmp_path / "work")
    hook = tmp_path / "work" / ".git" / "hooks" / "post-commit"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\n")
    hook.chmod(0o755)
    (tmp_path / "work" / "b.txt").write_text("x")
    assert await tree.commit("second")
    assert not (tmp_path / "ran").exists()


async def test_a_monitor_in_the_configuration_of_the_repository_does_not_run(tmp_path: Path) -> None:
    tree = await made(tmp_path / "work")
    monitor = tmp_path / "monitor"
    monitor.write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\n")
    monitor.chmod(0o755)
    with (tmp_path / "work" / ".git" / "config").open("a") as config:
        config.write(f"[core]\n\tfsmonitor = {monitor}\n")
    (tmp_path / "work" / "b.txt").write_text("x")
    assert (await tree.status()).has_uncommitted
    assert not (tmp_path / "ran").exists()

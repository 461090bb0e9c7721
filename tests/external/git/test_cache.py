"""Caches are shared between processes, repaired after a crash, and bounded."""

from __future__ import annotations

import asyncio
import fcntl
import secrets
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from homeostat.external.git.access import Remote
from homeostat.external.git.cache import GitCache
from homeostat.external.git.errors import CacheBusyError
from homeostat.external.git.program import GitLimits
from homeostat.external.secrets.credentials import BasicAuth
from tests.external.git.opened import bare_of, files, size
from tests.external.git_servers import Origin

FILES = frozenset({"file"})
_READ = """
import asyncio, sys
from pathlib import Path
from homeostat.external.git.access import Remote
from homeostat.external.git.cache import GitCache

async def main():
    for _ in range(5):
        async with GitCache(Path(sys.argv[1]), protocols={"file"}).open(Remote(sys.argv[2])) as repository:
            snapshot = repository.at(await repository.fetch("main"))
            print((await snapshot.file("x")).decode())

asyncio.run(main())
"""


def local(cache: Path, **limits: float) -> GitCache:
    return GitCache(cache, limits=GitLimits(**limits), protocols=FILES)  # type: ignore[arg-type]


def names(directory: Path) -> set[str]:
    return {each.name for each in directory.iterdir()}


async def fetch(cache: GitCache, origin: Origin, ref: str = "main") -> tuple[str, bytes]:
    async with cache.open(Remote(origin.file_url)) as repository:
        commit = await repository.fetch(ref)
        return commit, await repository.at(commit).file("x")


async def test_a_cache_is_for_one_url_and_one_credential(cache: Path) -> None:
    remotes = [
        Remote("https://h/a"),
        Remote("https://h/b"),
        Remote("https://h/a", BasicAuth("git", "1")),
        Remote("https://h/a", BasicAuth("git", "2")),
        Remote("https://h/a", BasicAuth("other", "2")),
        Remote("https://h/a", BasicAuth("git", "3"), identity="team/forge"),
    ]
    assert len({each.key for each in remotes}) == len(remotes)
    assert Remote("https://h/a", BasicAuth("git", "4"), identity="team/forge").key == remotes[-1].key
    async with GitCache(cache).open(remotes[0]):
        assert oct((cache / remotes[0].key).stat().st_mode)[-3:] == "700"


async def test_a_cache_does_not_grow_for_ever(cache: Path, origin: Origin) -> None:
    cached = GitCache(cache, protocols=FILES, largest_bytes=1 << 20)
    for at in range(14):
        commit = origin.commit({"large": secrets.token_bytes(50_000), "x": str(at)})
        assert await fetch(cached, origin) == (commit, str(at).encode())
    assert size(cache) < 6 * 50_000


async def test_a_commit_stays_readable_while_others_fetch(cache: Path, origin: Origin) -> None:
    first = origin.commit({"x": "first"})
    async with local(cache).open(Remote(origin.file_url)) as repository:
        await repository.fetch("main")
        for at in range(14):
            origin.commit({"x": str(at)})
            await fetch(local(cache), origin)
        assert await repository.at(first).file("x") == b"first"


async def test_several_processes_use_one_cache_at_once(cache: Path, origin: Origin) -> None:
    origin.commit({"x": "0"})
    origin.configure("[uploadpack]\nallowFilter = true\n")
    words = (sys.executable, "-c", _READ, str(cache), origin.file_url)
    started = [
        await asyncio.create_subprocess_exec(*words, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE)
        for _ in range(3)
    ]
    for at in range(1, 8):
        origin.commit({"x": str(at)})
    for process in started:
        output, errors = await process.communicate()
        assert process.returncode == 0, errors.decode()
        assert [int(each) for each in output.split()] == sorted(int(each) for each in output.split())
    assert names(cache) == {Remote(origin.file_url).key}


async def test_tasks_of_one_process_wait_for_each_other(cache: Path, origin: Origin) -> None:
    commit = origin.commit({"x": "1"})
    assert await asyncio.gather(*(fetch(local(cache), origin) for _ in range(5))) == [(commit, b"1")] * 5


async def test_a_cache_that_a_crash_left_broken_is_replaced(cache: Path, origin: Origin) -> None:
    origin.commit({"x": "1"})
    await fetch(local(cache), origin)
    commit = origin.commit({"x": "2"})
    for name in ("shallow.lock", "packed-refs.lock", "objects/pack/tmp_pack_x"):
        (bare_of(cache) / name).touch()
    assert await fetch(local(cache), origin) == (commit, b"2")
    assert not (bare_of(cache) / "objects/pack/tmp_pack_x").exists()
    commit = origin.commit({"x": "3"})
    for each in files(bare_of(cache) / "objects"):
        each.chmod(0o644)
        each.write_bytes(b"")
    assert await fetch(local(cache), origin) == (commit, b"3")
    await fetch(local(cache), origin)
    assert len(names(bare_of(cache).parent) - {"use.lock", "write.lock"}) == 1


async def test_during_a_fetch_others_read_and_none_fetches(cache: Path, origin: Origin) -> None:
    first = origin.commit({"x": "1"})
    await fetch(local(cache), origin)
    origin.commit({"x": "2"})
    with (bare_of(cache).parent / "write.lock").open("ab") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        async with local(cache).open(Remote(origin.file_url)) as repository:
            assert await repository.at(first).file("x") == b"1"
        with pytest.raises(CacheBusyError, match=r"still in use after 3 s"):
            await fetch(local(cache, timeout_s=3), origin)


async def test_the_caches_used_longest_ago_are_removed_first(cache: Path, tmp_path: Path) -> None:
    origins = [Origin(tmp_path / "served" / f"{at}.git") for at in range(4)]
    small = GitCache(cache, protocols=FILES, largest_bytes=500_000)
    for origin in origins:
        origin.commit({"x": secrets.token_bytes(150_000)})
    async with small.open(Remote(origins[0].file_url)) as held:
        await held.fetch("main")
        for origin in origins[1:]:
            await fetch(small, origin)
        kept = names(cache)
    # The first is in use, the second was used before the others.
    assert kept == {Remote(origins[at].file_url).key for at in (0, 2, 3)}


async def test_a_repository_that_takes_more_than_its_share_is_cloned_again(cache: Path, origin: Origin) -> None:
    small = GitCache(cache, protocols=FILES, largest_bytes=400_000)
    for _ in range(3):
        origin.commit({"x": secrets.token_bytes(150_000)})
        await fetch(small, origin)
    assert size(cache) < 400_000


async def test_leftovers_of_an_interrupted_eviction_are_removed(cache: Path, tmp_path: Path) -> None:
    origins = [Origin(tmp_path / "served" / f"{at}.git") for at in range(3)]
    small = GitCache(cache, protocols=FILES, largest_bytes=300_000)
    for origin in origins:
        origin.commit({"x": secrets.token_bytes(150_000)})
    for each in (Remote(origins[0].file_url).key, "other"):
        left = cache / f"{each}.gone" / "bare.0"
        left.mkdir(parents=True)
        (left / "pack").write_bytes(b"left")
    for origin in origins:
        await fetch(small, origin)
    assert names(cache) == {Remote(origins[2].file_url).key}


async def test_caches_are_bounded_though_those_who_use_them_fail(cache: Path, tmp_path: Path) -> None:
    small = GitCache(cache, protocols=FILES, largest_bytes=300_000)
    for at in range(4):
        origin = Origin(tmp_path / "served" / f"{at}.git")
        origin.commit({"x": secrets.token_bytes(150_000)})
        with suppress(RuntimeError):
            async with small.open(Remote(origin.file_url)) as repository:
                await repository.at(await repository.fetch("main")).file("x")
                raise RuntimeError
    assert size(cache) < 300_000


async def test_a_size_that_a_full_disk_left_empty_is_measured_again(cache: Path, origin: Origin) -> None:
    commit = origin.commit({"x": "1"})
    for _ in range(2):
        await fetch(local(cache), origin)
    (bare_of(cache) / "homeostat-first-size").write_text("")
    assert await fetch(local(cache), origin) == (commit, b"1")


async def test_a_cache_that_is_evicted_while_its_lock_is_opened_is_created_again(
    cache: Path, origin: Origin, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit = origin.commit({"x": "1"})
    removals, mkdir = [1, 2], Path.mkdir

    def evicted(self: Path, *words: int, **options: int) -> None:
        mkdir(self, *words, **options)  # type: ignore[arg-type]
        if self.parent == cache and self.exists() and removals:
            removals.pop()
            self.rmdir()

    monkeypatch.setattr(Path, "mkdir", evicted)
    assert await fetch(local(cache), origin) == (commit, b"1")
    assert not removals

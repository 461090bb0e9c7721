"""Files of a repository are read as they were committed, and nothing of it is executed."""

from __future__ import annotations

import asyncio
import os
import secrets
import subprocess
import time
from pathlib import Path

import pytest

from homeostat.external.git.access import Remote
from homeostat.external.git.errors import (
    GitAddressError,
    GitError,
    MissingPathError,
    MissingRefError,
    MissingRepositoryError,
    NotAFileError,
    TooLargeError,
)
from homeostat.external.git.repository import PathChange, Repository
from homeostat.external.git.snapshot import TreeEntry
from tests.external.git.opened import Open, bare_of, size
from tests.external.git_servers import Origin, Sshd, serving_git


async def texts(repository: Repository, commit: str, directory: str = "") -> dict[str, bytes]:
    snapshot = repository.at(commit)
    entries = [each for each in await snapshot.tree(directory) if each.is_file]
    return dict(zip([each.path for each in entries], await snapshot.read(entries), strict=True))


@pytest.fixture
async def repository(open_git: Open, origin: Origin) -> Repository:
    return await open_git(Remote(origin.file_url))


async def test_the_files_of_a_directory_are_read_at_a_ref(repository: Repository, origin: Origin) -> None:
    first = origin.commit({"a/x.yaml": "x: 1\n", "a/b/y.yaml": "", "c.txt": b"\x00\n\n"})
    origin.git("tag", "-a", "-m", "one", "v1")
    origin.git("tag", "light")
    origin.git("checkout", "-q", "-b", "next")
    second = origin.commit({"a/x.yaml": "x: 2\n"}, "a/b/y.yaml")
    refs = ("main", "next", "v1", "light", "refs/heads/next", "HEAD", first)
    assert [await repository.fetch(ref) for ref in refs] == [first, second, first, first, second, second, first]
    assert await texts(repository, first) == {"a/x.yaml": b"x: 1\n", "a/b/y.yaml": b"", "c.txt": b"\x00\n\n"}
    assert await texts(repository, second, "/a/") == {"x.yaml": b"x: 2\n"}


async def test_one_file_is_read_by_its_path(repository: Repository, origin: Origin) -> None:
    os.symlink("x.yaml", origin.path / "link")
    snapshot = repository.at(await _committed(repository, origin, {"a/x.yaml": "x: 1\n", "a/*": "star"}))
    assert (await snapshot.file("/a/x.yaml"), await snapshot.file("a/*")) == (b"x: 1\n", b"star")
    for path, error in {"a/y": MissingPathError, "a": NotAFileError, "link": NotAFileError}.items():
        with pytest.raises(error, match=f'"{path}"'):
            await snapshot.file(path)


async def test_a_ref_that_moves_is_followed_also_backwards(repository: Repository, origin: Origin) -> None:
    first = origin.commit({"x": "1"})
    second = origin.commit({"x": "2"})
    assert await repository.fetch("main") == second
    origin.git("reset", "-q", "--hard", first)
    assert await repository.fetch("main") == first
    assert await texts(repository, first) == {"x": b"1"}


async def test_the_server_s_refs_are_listed_and_tags_lead_to_their_commits(
    repository: Repository, origin: Origin
) -> None:
    commit = origin.commit({"x": "1"})
    origin.git("tag", "-a", "-m", "one", "v1")
    assert await repository.refs("refs/tags/*") == {"refs/tags/v1": commit}
    assert await repository.refs() == {"HEAD": commit, "refs/heads/main": commit, "refs/tags/v1": commit}


async def test_fetching_is_shallow_and_sends_only_what_is_new(
    cache: Path, repository: Repository, origin: Origin
) -> None:
    origin.commit({"large": secrets.token_bytes(300_000)})
    origin.commit({"large": secrets.token_bytes(300_000)})
    origin.commit({"large": secrets.token_bytes(300_000), "small": "1"})
    await repository.fetch("main")
    assert size(cache) < 400_000
    commit = origin.commit({"small": "2"})
    await repository.fetch("main")
    assert size(cache) < 400_000
    assert (await texts(repository, commit))["small"] == b"2"


async def test_contents_are_downloaded_when_they_are_read(cache: Path, repository: Repository, origin: Origin) -> None:
    origin.configure("[uploadpack]\nallowFilter = true\n")
    commit = await _committed(repository, origin, {"large": secrets.token_bytes(300_000), "small": "1"})
    snapshot = repository.at(commit)
    assert (await snapshot.file("small"), len(await snapshot.tree())) == (b"1", 2)
    assert size(cache) < 50_000
    assert len(await snapshot.file("large")) == 300_000
    assert size(cache) > 300_000


async def test_a_repository_with_submodules_is_fetched_without_contents_too(
    repository: Repository, origin: Origin
) -> None:
    origin.configure("[uploadpack]\nallowFilter = true\n")
    commit = await _committed(
        repository, origin, {".gitmodules": '[submodule "x"]\n\tpath = x\n\turl = https://example.org/x\n', "y": "1"}
    )
    assert (await texts(repository, commit))["y"] == b"1"


async def test_a_server_that_sends_no_single_files_is_asked_for_all_of_them(
    open_git: Open, origin: Origin, sshd: Sshd
) -> None:
    """Git's first protocol, which is what ssh speaks unless its server is configured for the newer one."""
    origin.configure("[uploadpack]\nallowFilter = true\n")
    origin.configure("[uploadpack]\nallowAnySHA1InWant = false\n")
    repository = await open_git(sshd.remote(origin.path))
    commit = await _committed(repository, origin, {"a": "1", "b/c": "2"})
    assert await texts(repository, commit) == {"a": b"1", "b/c": b"2"}


async def test_a_ref_that_has_not_moved_costs_one_question(open_git: Open, origin: Origin) -> None:
    origin.commit({"x": "1"})
    async with serving_git(origin.path.parent) as (server, url):
        repository = await open_git(Remote(f"{url}/shop.git"))
        await repository.fetch("main")
        server.requests.clear()
        await repository.fetch("main")
    assert server.requests == ["/shop.git/info/refs", "/shop.git/git-upload-pack"]


async def test_what_is_missing_has_an_error_of_its_own(open_git: Open, repository: Repository, origin: Origin) -> None:
    commit = await _committed(repository, origin, {"x": "1"})
    with pytest.raises(MissingRefError, match='no branch and no tag "other"'):
        await repository.fetch("other")
    with pytest.raises(MissingRefError):
        await repository.fetch("1" * 40)
    with pytest.raises(MissingPathError, match='has no directory "none"'):
        await repository.at(commit).tree("none")
    gone = await open_git(Remote(f"{origin.file_url}-gone"))
    with pytest.raises(MissingRepositoryError, match="git ls-remote: fatal: "):
        await gone.fetch("main")


async def test_changes_between_two_commits_are_listed_with_renames(repository: Repository, origin: Origin) -> None:
    base = origin.commit({"a/x": "1" * 100, "a/y": "2", "b": "3", "c": "4"})
    origin.git("mv", "a/x", "a/z")
    os.remove(origin.path / "c")
    os.symlink("b", origin.path / "c")
    head = await _committed(repository, origin, {"a/y": "5", "d\t\n": "6"}, "b")
    assert await repository.changes(base, head) == [
        PathChange("M", "a/y", "a/y", "100644"),
        PathChange("R", "a/z", "a/x", "100644"),
        PathChange("D", "b", "b", "000000"),
        PathChange("T", "c", "c", "120000"),
        PathChange("A", "d\t\n", "d\t\n", "100644"),
    ]
    assert [each.path for each in await repository.changes(base, head, "a")] == ["a/y", "a/z"]
    with pytest.raises(MissingRefError):
        await repository.changes("1" * 40, head)


@pytest.mark.parametrize(
    ("limits", "told"),
    [
        ({"files": 2}, "has 3 files; the limit is 2"),
        ({"depth": 1}, '"a/b/y" is more than 1 directories deep'),
        ({"file_bytes": 99}, '"x" has 100 bytes; the limit is 99'),
        ({"total_bytes": 100}, "3 files have 102 bytes; the limit is 100"),
        ({"pack_bytes": 1024}, "it exceeds 1024 bytes"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
@pytest.mark.parametrize("is_partial", [False, True], ids=["whole", "partial"])
async def test_what_exceeds_the_limits_is_refused(
    open_git: Open, origin: Origin, limits: dict[str, int], told: str, *, is_partial: bool
) -> None:
    origin.configure(f"[uploadpack]\nallowFilter = {str(is_partial).lower()}\n")
    files: dict[str, str | bytes] = {"x": secrets.token_bytes(100), "a/b/y": "1", "z": "2"}
    if "pack_bytes" in limits:
        files["large"] = secrets.token_bytes(100_000)
    commit = origin.commit(files)

    async def read_all() -> None:
        repository = await open_git(Remote(origin.file_url), **limits)
        await repository.fetch("main")
        await texts(repository, commit)

    with pytest.raises(TooLargeError, match=told):
        await read_all()


async def test_links_and_submodules_are_reported_and_not_followed(repository: Repository, origin: Origin) -> None:
    origin.commit({"x": "1"})
    os.symlink("/etc/passwd", origin.path / "link")
    origin.git("update-index", "--add", "--cacheinfo", f"160000,{'1' * 40},module")
    origin.git("add", "link")
    origin.git("commit", "-q", "-m", "odd")
    snapshot = repository.at(await repository.fetch())
    entries = {each.path: each for each in await snapshot.tree()}
    assert {path: each.kind for path, each in entries.items()} == {
        "x": "a file",
        "link": "a link",
        "module": "a submodule",
    }
    assert [(each.is_file, each.is_link) for each in map(entries.get, ("x", "link", "module")) if each] == [
        (True, False),
        (False, True),
        (False, False),
    ]
    assert await snapshot.read([entries["link"]]) == [b"/etc/passwd"]


async def test_odd_names_are_names(repository: Repository, origin: Origin) -> None:
    names = {"-x", ":(glob)*", "a b", 'q"q', "$(id)", "ü", "x\ty", "--help/-n"}
    commit = await _committed(repository, origin, dict.fromkeys(names, "1"))
    assert set(await texts(repository, commit)) == names
    assert await repository.at(commit).file(":(glob)*") == b"1"


async def test_nothing_of_the_machine_s_configuration_counts(
    cache: Path, repository: Repository, origin: Origin, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit = origin.commit({"x": "1", ".gitattributes": "* filter=evil\n"})
    mark = tmp_path / "executed"
    home = tmp_path / "home"
    home.mkdir()
    (home / ".gitconfig").write_text(f'[filter "evil"]\n\tsmudge = touch {mark}\n[core]\n\tfsmonitor = touch {mark}\n')
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("GIT_SSH_COMMAND", f"touch {mark}")
    monkeypatch.setenv("GIT_DIR", str(origin.path))
    await repository.fetch("main")
    hook = bare_of(cache) / "hooks" / "reference-transaction"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f"#!/bin/sh\ntouch {mark}\n")
    hook.chmod(0o755)
    monkeypatch.delenv("GIT_DIR")
    commit = origin.commit({"x": "2"})
    assert await texts(repository, await repository.fetch("main")) == {"x": b"2", ".gitattributes": b"* filter=evil\n"}
    assert (await repository.fetch("main"), mark.exists()) == (commit, False)


@pytest.mark.parametrize("ref", ["-x", "a..b", "a b", "", "a:b", "^main", "@{-1}", "a.lock", "a//b", "a/"])
async def test_refs_that_are_refused(repository: Repository, ref: str) -> None:
    with pytest.raises(GitAddressError):
        await repository.fetch(ref)


async def test_a_directory_cannot_lead_outside(repository: Repository, origin: Origin) -> None:
    commit = await _committed(repository, origin, {"a/x": "1"})
    with pytest.raises(GitAddressError):
        await repository.at(commit).tree("a/../..")
    with pytest.raises(GitAddressError):
        repository.at("--output=x")


async def test_a_missing_object_is_an_error(repository: Repository, origin: Origin) -> None:
    commit = await _committed(repository, origin, {"x": "1"})
    with pytest.raises(GitError, match='"x" cannot be read'):
        await repository.at(commit).read([TreeEntry("x", "100644", "1" * 40)])


async def _committed(repository: Repository, origin: Origin, files: dict[str, str | bytes], *gone: str) -> str:
    commit = origin.commit(files, *gone)
    assert await repository.fetch("main") == commit
    return commit


def _commit_many(origin: Origin, count: int) -> None:
    commit = origin.commit({"x": ""})
    blob = origin.git("rev-parse", f"{commit}:x")
    names = "".join(f"M 100644 {blob} d{number % 100}/f{number}\n" for number in range(count))
    stream = f"commit refs/heads/main\ncommitter x <x@example.org> 0 +0000\ndata 0\nfrom {commit}\n{names}"
    subprocess.run(["git", "fast-import", "--quiet"], cwd=origin.path, input=stream.encode(), check=True)


async def test_a_tree_of_very_many_files_is_refused_without_blocking_the_event_loop(
    open_git: Open, origin: Origin
) -> None:
    _commit_many(origin, 50_000)
    repository = await open_git(Remote(origin.file_url))
    snapshot = repository.at(await repository.fetch("main"))
    longest_s = 0.0

    async def measure() -> None:
        nonlocal longest_s
        while True:
            began = time.thread_time()
            await asyncio.sleep(0.001)
            longest_s = max(longest_s, time.thread_time() - began)

    measuring = asyncio.create_task(measure())
    with pytest.raises(TooLargeError, match="has 50001 files; the limit is 10000"):
        await snapshot.tree()
    await asyncio.sleep(0.01)
    measuring.cancel()
    assert longest_s < 0.05


async def test_a_long_name_is_shortened_in_an_error(open_git: Open, origin: Origin) -> None:
    commit = origin.commit({f"{'directory/' * 40}\x1b[31mx": ""})
    repository = await open_git(Remote(origin.file_url))
    await repository.fetch("main")
    with pytest.raises(TooLargeError, match="directories deep") as error:
        await repository.at(commit).tree()
    assert len(str(error.value)) < 400

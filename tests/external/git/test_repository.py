"""Files of a repository are read as they were committed, and nothing of it is executed."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from pathlib import Path

import pytest

from homeostat.external.git.access import GitAddressError, SshKey, Token
from homeostat.external.git.repository import (
    GitError,
    Limits,
    MissingRefError,
    Remote,
    Repository,
    TooLargeError,
    TreeEntry,
)
from homeostat.external.process import ProgramBusyError, locked
from tests.external.git_servers import Origin, Sshd, running_sshd, serving_git
from tests.external.servers import own_authority
from tools.fetch_servers import MissingProgramError

FILES = frozenset({"file"})


@pytest.fixture
def origin(tmp_path: Path) -> Origin:
    return Origin(tmp_path / "served" / "shop.git")


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    return tmp_path / "cache"


def local(cache: Path, origin: Origin, **limits: int) -> Repository:
    return Repository(cache, Remote(origin.file_url), limits=Limits(**limits), protocols=FILES)


async def texts(repository: Repository, commit: str, directory: str = "") -> dict[str, bytes]:
    entries = [each for each in await repository.tree(commit, directory) if each.is_file]
    return dict(zip([each.path for each in entries], await repository.read(entries), strict=True))


async def test_the_files_of_a_directory_are_read_at_a_ref(cache: Path, origin: Origin) -> None:
    first = origin.commit({"a/x.yaml": "x: 1\n", "a/b/y.yaml": "", "c.txt": b"\x00\n\n"})
    origin.git("tag", "-a", "-m", "one", "v1")
    origin.git("tag", "light")
    origin.git("checkout", "-q", "-b", "next")
    second = origin.commit({"a/x.yaml": "x: 2\n"}, "a/b/y.yaml")
    repository = local(cache, origin)
    refs = ("main", "next", "v1", "light", "refs/heads/next", "HEAD", first)
    assert [await repository.fetch(ref) for ref in refs] == [first, second, first, first, second, second, first]
    assert await texts(repository, first) == {"a/x.yaml": b"x: 1\n", "a/b/y.yaml": b"", "c.txt": b"\x00\n\n"}
    assert await texts(repository, second, "/a/") == {"x.yaml": b"x: 2\n"}


async def test_a_ref_that_moves_is_followed_also_backwards(cache: Path, origin: Origin) -> None:
    first = origin.commit({"x": "1"})
    second = origin.commit({"x": "2"})
    repository = local(cache, origin)
    assert await repository.fetch("main") == second
    origin.git("reset", "-q", "--hard", first)
    assert await repository.fetch("main") == first
    assert await texts(repository, first) == {"x": b"1"}


async def test_fetching_is_shallow_and_sends_only_what_is_new(cache: Path, origin: Origin) -> None:
    origin.commit({"large": secrets.token_bytes(300_000)})
    origin.commit({"large": secrets.token_bytes(300_000)})
    origin.commit({"large": secrets.token_bytes(300_000), "small": "1"})
    repository = local(cache, origin)
    await repository.fetch("main")
    assert size(cache) < 400_000
    commit = origin.commit({"small": "2"})
    await repository.fetch("main")
    assert size(cache) < 400_000
    assert (await texts(repository, commit))["small"] == b"2"


async def test_a_cache_does_not_grow_for_ever(cache: Path, origin: Origin) -> None:
    repository = local(cache, origin)
    for at in range(12):
        commit = origin.commit({"x": secrets.token_bytes(50_000), "at": str(at)})
        await repository.fetch("main")
    assert size(cache) < 12 * 50_000
    assert (await texts(repository, commit))["at"] == b"11"


async def test_a_ref_that_has_not_moved_costs_one_question(cache: Path, origin: Origin) -> None:
    origin.commit({"x": "1"})
    async with serving_git(origin.path.parent) as (server, url):
        repository = Repository(cache, Remote(f"{url}/shop.git"))
        await repository.fetch("main")
        server.requests.clear()
        await repository.fetch("main")
    assert server.requests == ["/shop.git/info/refs", "/shop.git/git-upload-pack"]


async def test_what_is_not_there_is_told(cache: Path, origin: Origin) -> None:
    commit = origin.commit({"x": "1"})
    repository = local(cache, origin)
    with pytest.raises(MissingRefError, match='no branch and no tag "other"'):
        await repository.fetch("other")
    await repository.fetch("main")
    with pytest.raises(MissingRefError, match='has no directory "none"'):
        await repository.tree(commit, "none")
    gone = Repository(cache / "2", Remote(f"{origin.file_url}-gone"), protocols=FILES)
    with pytest.raises(GitError, match="git ls-remote: fatal: "):
        await gone.fetch("main")


@pytest.mark.parametrize(
    ("limits", "told"),
    [
        ({"files": 2}, "has 3 files, and at most 2"),
        ({"depth": 1}, '"a/b/y" is more than 1 directories deep'),
        ({"file_bytes": 99}, '"x" has 100 bytes, and at most 99'),
        ({"total_bytes": 100}, "3 files have 102 bytes together"),
        ({"pack_bytes": 1024}, "it would bring more than 1024 bytes"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
async def test_what_is_larger_than_the_limits_is_refused(
    cache: Path, origin: Origin, limits: dict[str, int], told: str
) -> None:
    commit = origin.commit({"x": secrets.token_bytes(100), "a/b/y": "1", "z": "2"})
    if "pack_bytes" in limits:
        origin.commit({"large": secrets.token_bytes(100_000)})

    async def read_all() -> None:
        repository = local(cache, origin, **limits)
        await repository.fetch("main")
        await texts(repository, commit)

    with pytest.raises(TooLargeError, match=told):
        await read_all()


async def test_links_and_submodules_are_told_as_such_and_not_followed(cache: Path, origin: Origin) -> None:
    origin.commit({"x": "1"})
    os.symlink("/etc/passwd", origin.path / "link")
    origin.git("update-index", "--add", "--cacheinfo", f"160000,{'1' * 40},module")
    origin.git("add", "link")
    origin.git("commit", "-q", "-m", "odd")
    repository = local(cache, origin)
    entries = {each.path: each for each in await repository.tree(await repository.fetch())}
    assert [
        (each.is_file, each.is_link, each.is_submodule) for each in map(entries.get, ("x", "link", "module")) if each
    ] == [
        (True, False, False),
        (False, True, False),
        (False, False, True),
    ]
    assert await repository.read([entries["link"]]) == [b"/etc/passwd"]


async def test_nothing_of_the_machine_s_configuration_counts(
    cache: Path, origin: Origin, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit = origin.commit({"x": "1", ".gitattributes": "* filter=evil\n"})
    mark = tmp_path / "executed"
    home = tmp_path / "home"
    home.mkdir()
    (home / ".gitconfig").write_text(f'[filter "evil"]\n\tsmudge = touch {mark}\n[core]\n\tfsmonitor = touch {mark}\n')
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("GIT_SSH_COMMAND", f"touch {mark}")
    monkeypatch.setenv("GIT_DIR", str(origin.path))
    repository = local(cache, origin)
    await repository.fetch("main")
    hook = cache / "bare" / "hooks" / "reference-transaction"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f"#!/bin/sh\ntouch {mark}\n")
    hook.chmod(0o755)
    monkeypatch.delenv("GIT_DIR")
    commit = origin.commit({"x": "2"})
    assert await texts(repository, await repository.fetch("main")) == {"x": b"2", ".gitattributes": b"* filter=evil\n"}
    assert (await repository.fetch("main"), mark.exists()) == (commit, False)


async def test_a_cache_that_a_crash_left_broken_is_made_anew(cache: Path, origin: Origin) -> None:
    origin.commit({"x": "1"})
    await local(cache, origin).fetch("main")
    commit = origin.commit({"x": "2"})
    (cache / "bare" / "shallow.lock").touch()
    assert await local(cache, origin).fetch("main") == commit
    commit = origin.commit({"x": "3"})
    for pack in (cache / "bare" / "objects").rglob("*"):
        if pack.is_file():
            pack.chmod(0o644)
            pack.write_bytes(b"")
    repository = local(cache, origin)
    assert await texts(repository, await repository.fetch("main")) == {"x": b"3"}


async def test_a_git_that_outlived_its_master_is_not_joined_by_another(cache: Path, origin: Origin) -> None:
    origin.commit({"x": "1"})
    os.mkdir(cache)
    with locked(cache / "homeostat.lock", "git"), pytest.raises(ProgramBusyError):
        await local(cache, origin).fetch("main")


async def test_a_token_is_sent_and_never_told(cache: Path, origin: Origin) -> None:
    commit = origin.commit({"x": "1"})
    async with serving_git(origin.path.parent, "s3cret-token") as (_, url):
        remote = Remote(f"{url}/shop.git", Token("s3cret-token"))
        assert await Repository(cache, remote).fetch("main") == commit
        assert "s3cret" not in repr(remote)
        with pytest.raises(GitError, match="git ls-remote: fatal: ") as error:
            await Repository(cache / "2", Remote(f"{url}/shop.git", Token("wr0ng-token"))).fetch("main")
    assert "wr0ng" not in str(error.value)
    assert not [each for each in files(cache) if b"s3cret" in each.read_bytes()]


async def test_over_tls_the_authority_is_the_machine_s_unless_given(
    cache: Path, origin: Origin, tmp_path: Path
) -> None:
    commit = origin.commit({"x": "1"})
    tls, authority = own_authority(tmp_path)
    async with serving_git(origin.path.parent, "t0ken", tls) as (_, url):
        with pytest.raises(GitError, match="git ls-remote: fatal: "):
            await Repository(cache, Remote(f"{url}/shop.git", Token("t0ken"))).fetch("main")
        remote = Remote(f"{url}/shop.git", Token("t0ken"), authority)
        assert await Repository(cache / "2", remote).fetch("main") == commit


async def test_a_token_does_not_follow_a_redirect(cache: Path, origin: Origin) -> None:
    origin.commit({"x": "1"})
    async with serving_git(origin.path.parent) as (elsewhere, far), serving_git(origin.path.parent) as (server, near):
        server.redirect = far
        with pytest.raises(GitError):
            await Repository(cache, Remote(f"{near}/shop.git", Token("t"))).fetch("main")
        assert elsewhere.requests == []
        await Repository(cache, Remote(f"{near}/shop.git")).fetch("main")


@pytest.mark.parametrize(
    ("url", "told"),
    [
        ("file:///etc", 'protocol "file"; allowed are: http, https, ssh'),
        ("/etc", "not a URL with a host"),
        ("ext::sh -c id", "not a URL with a host"),
        ("https://me:pass@host/x", "give them as a secret"),
        ("git@host:x", "wants an SSH key"),
        ("--upload-pack=id", "not a URL with a host"),
        ("ssh://-oProxyCommand=id/x", "wants an SSH key"),
    ],
)
def test_addresses_that_are_refused(tmp_path: Path, url: str, told: str) -> None:
    with pytest.raises(GitAddressError, match=told):
        Repository(tmp_path, Remote(url))


@pytest.mark.parametrize("ref", ["-x", "a..b", "a b", "", "a:b", "^main", "@{-1}"])
async def test_refs_that_are_refused(cache: Path, origin: Origin, ref: str) -> None:
    with pytest.raises(GitAddressError):
        await local(cache, origin).fetch(ref)


async def test_a_directory_cannot_lead_outside(cache: Path, origin: Origin) -> None:
    commit = origin.commit({"a/x": "1"})
    repository = local(cache, origin)
    await repository.fetch("main")
    with pytest.raises(GitAddressError):
        await repository.tree(commit, "a/../..")


async def test_an_object_that_the_cache_lacks_is_an_error(cache: Path, origin: Origin) -> None:
    origin.commit({"x": "1"})
    repository = local(cache, origin)
    await repository.fetch("main")
    with pytest.raises(GitError, match='"x" cannot be read'):
        await repository.read([TreeEntry("x", "100644", "1" * 40, 1)])


@pytest.fixture
def sshd(tmp_path: Path) -> Iterator[Sshd]:
    folder = tmp_path / "sshd"
    folder.mkdir()
    try:
        with running_sshd(folder) as running:
            yield running
    except MissingProgramError as error:
        pytest.skip(str(error))


async def test_over_ssh_the_key_counts_and_the_host_must_be_known(cache: Path, origin: Origin, sshd: Sshd) -> None:
    commit = origin.commit({"x": "1"})
    url = f"ssh://{sshd.user}@127.0.0.1:{sshd.port}{origin.path}"
    repository = Repository(cache, Remote(url, SshKey(sshd.private_key.rstrip(), sshd.known_hosts)))
    assert await repository.fetch("main") == commit
    assert await texts(repository, commit) == {"x": b"1"}
    assert not [each for each in files(cache) if b"PRIVATE KEY" in each.read_bytes()]
    kind, key = sshd.known_hosts.split()[1:3]
    other = f"[127.0.0.1]:{sshd.port} {kind} {key[:-6]}AAAAAA\n"
    with pytest.raises(GitError):
        await Repository(cache / "2", Remote(url, SshKey(sshd.private_key, other))).fetch("main")


def size(directory: Path) -> int:
    return sum(each.stat().st_size for each in files(directory))


def files(directory: Path) -> list[Path]:
    return [each for each in directory.rglob("*") if each.is_file()]

"""A change reaches its branch or is an error; what others pushed meanwhile is never lost."""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from homeostat.external.git.access import Remote
from homeostat.external.git.commit import Change, GpgSigning, Identity, Signature, Signing, SshSigning
from homeostat.external.git.errors import (
    AuthenticationError,
    GitAddressError,
    MissingRefError,
    NotAFileError,
    PushConflictError,
    PushRejectedError,
    SigningError,
    TooLargeError,
)
from homeostat.external.git.push import Attempts, Propose, Pushed, push_change
from homeostat.external.git.repository import Repository
from homeostat.external.git.snapshot import Snapshot
from homeostat.external.secrets.credentials import BasicAuth
from homeostat.objects.time.backoff import Backoff
from tests.external.git.opened import Open
from tests.external.git_servers import Origin, Sshd, serving_git
from tests.external.servers import own_authority

BOT = Signature(author=Identity("bot", "bot@example.org"))
NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)


async def no_pause(_: float) -> None:
    return None


def writes(files: dict[str, bytes | None], message: str = "change") -> Propose:
    async def propose(_: Snapshot) -> Change:
        return Change(files, message)

    return propose


async def push(repository: Repository, propose: Propose, branch: str = "main", *, start: str = "") -> Pushed:
    attempts = Attempts(most=3, sleep=no_pause)
    return await push_change(repository, branch, propose, by=BOT, start=start, attempts=attempts, now=lambda: NOON)


@pytest.fixture(params=[True])
async def repository(request: pytest.FixtureRequest, open_git: Open, origin: Origin) -> Repository:
    """Partial: without the contents of files."""
    origin.configure(f"[uploadpack]\nallowFilter = {str(request.param).lower()}\n")
    origin.commit({"a/b/x.yaml": "tag: 1\n", "a/y": "y", "run.sh": "#!/bin/sh\n"})
    return await open_git(Remote(origin.file_url))


@pytest.mark.parametrize("repository", [True, False], ids=["partial", "whole"], indirect=True)
async def test_edits_become_one_commit_on_the_branch(repository: Repository, origin: Origin) -> None:
    os.chmod(origin.path / "run.sh", 0o755)
    base = origin.commit({})

    async def propose(head: Snapshot) -> Change:
        text = await head.file("a/b/x.yaml")
        files = {"a/b/x.yaml": text.replace(b"1", b"2"), "a/y": None, 'n/e "w\\q': b"\0\n", "run.sh": b"", "gone": None}
        return Change(files, "web: 1 -> 2\n\nWhy: ümlaut")

    pushed = await push(repository, propose)
    assert pushed == Pushed(origin.git("rev-parse", "main"), base, 1)
    assert origin.git("show", "main:a/b/x.yaml") == "tag: 2"
    listed = origin.git("-c", "core.quotePath=false", "ls-tree", "-r", "--format=%(objectmode) %(path)", "main")
    assert listed.splitlines() == ["100644 a/b/x.yaml", '100644 "n/e \\"w\\\\q"', "100755 run.sh"]
    shown = origin.git("show", "-s", "--format=%an <%ae> %at|%cn <%ce> %ct|%B", "main")
    assert shown == f"bot <bot@example.org> {NOON.timestamp():.0f}|" * 2 + "web: 1 -> 2\n\nWhy: ümlaut"


async def test_a_change_that_changes_nothing_makes_no_commit(repository: Repository, origin: Origin) -> None:
    base = origin.git("rev-parse", "main")

    async def nothing(_: Snapshot) -> None:
        return None

    for propose in (nothing, writes({"a/y": b"y"}), writes({"gone": None}), writes({})):
        assert await push(repository, propose) == Pushed(None, base, 1)
    assert origin.git("rev-parse", "main") == base


@pytest.mark.parametrize("repository", [True, False], ids=["partial", "whole"], indirect=True)
async def test_a_branch_that_moved_meanwhile_is_built_upon(repository: Repository, origin: Origin) -> None:
    seen = []

    async def propose(head: Snapshot) -> Change:
        count = int((await head.file("a/b/x.yaml")).split()[1])
        seen.append(count)
        if len(seen) < 3:
            origin.git("reset", "-q", "--hard")
            origin.commit({"a/b/x.yaml": f"tag: {count + 10}\n", "other": str(count)})
        return Change({"a/b/x.yaml": f"tag: {count + 1}\n".encode()}, "count")

    pushed = await push(repository, propose)
    assert (pushed.attempts, seen) == (3, [1, 11, 21])
    assert origin.git("show", "main:a/b/x.yaml") == "tag: 22"
    assert origin.git("log", "--format=%s", "main").splitlines() == ["count", "change", "change", "change"]


async def test_a_branch_that_was_set_back_is_not_set_forward_again(repository: Repository, origin: Origin) -> None:
    first = origin.git("rev-parse", "main")
    origin.commit({"bad": "1"})
    is_back: list[bool] = []

    async def propose(head: Snapshot) -> Change:
        if not is_back:
            is_back.append(True)
            origin.git("reset", "-q", "--hard", first)
        return Change({"new": b"1"}, "new")

    assert await push(repository, propose) == Pushed(origin.git("rev-parse", "main"), first, 2)
    assert "bad" not in origin.git("ls-tree", "--name-only", "main")


async def test_a_branch_that_never_holds_still_is_a_conflict(repository: Repository, origin: Origin) -> None:
    async def propose(_: Snapshot) -> Change:
        origin.commit({})
        return Change({"x": b"1"}, "x")

    with pytest.raises(PushConflictError, match='"main" moved during each of 3 attempts'):
        await push(repository, propose)


async def test_pauses_between_attempts_grow_and_are_random(repository: Repository, origin: Origin) -> None:
    async def propose(_: Snapshot) -> Change:
        origin.commit({})
        return Change({"x": b"1"}, "x")

    pauses: list[float] = []

    async def sleep(seconds: float) -> None:
        pauses.append(seconds)

    halves = Attempts(most=5, backoff=Backoff(1, 3, spread=1), chance=lambda: 0.5, sleep=sleep)
    with pytest.raises(PushConflictError):
        await push_change(repository, "main", propose, by=BOT, attempts=halves)
    assert pauses == [0.5, 1, 1.5, 1.5]


async def test_several_writers_of_one_branch_all_succeed(open_git: Open, origin: Origin) -> None:
    origin.commit({"count": "0"})
    repositories = [await open_git(Remote(origin.file_url)) for _ in range(3)]

    async def add(repository: Repository, at: int) -> None:
        attempts = Attempts(most=20, backoff=Backoff(0.01, 1, spread=1))
        await push_change(repository, "main", writes({f"{at}": b""}, f"{at}"), by=BOT, attempts=attempts)

    await asyncio.gather(*(add(repository, at) for at, repository in enumerate(repositories)))
    assert origin.git("ls-tree", "--name-only", "main").split() == ["0", "1", "2", "count"]


@pytest.mark.parametrize("repository", [True, False], ids=["partial", "whole"], indirect=True)
async def test_a_new_branch_is_made_from_another(repository: Repository, origin: Origin) -> None:
    with pytest.raises(MissingRefError):
        await push(repository, writes({"x": b"1"}), "bump/web")
    pushed = await push(repository, writes({"x": b"1"}), "bump/web", start="main")
    assert origin.git("rev-parse", "bump/web", "bump/web~1").split() == [pushed.commit, origin.git("rev-parse", "main")]
    again = await push(repository, writes({"x": b"2"}), "bump/web", start="main")
    assert again.base == pushed.commit


@pytest.mark.parametrize("repository", [True, False], ids=["partial", "whole"], indirect=True)
async def test_a_commit_that_was_fetched_can_be_made_and_pushed_again(repository: Repository, origin: Origin) -> None:
    first = await push(repository, writes({"x": b"1"}), "bump/web", start="main")
    assert first.commit
    shallow = repository.git.bare / "shallow"
    shallow.write_text("".join(f"{each}\n" for each in {*shallow.read_text().split(), first.commit}))
    origin.git("branch", "-D", "bump/web")
    origin.git("gc", "-q", "--prune=now")
    again = await push(repository, writes({"x": b"1"}), "bump/web", start="main")
    assert (again.commit, origin.git("rev-parse", "bump/web")) == (first.commit, first.commit)
    assert first.commit not in shallow.read_text()
    assert first.base in origin.git("rev-list", "bump/web")


async def test_a_hook_that_refuses_ends_it(repository: Repository, origin: Origin) -> None:
    hook = origin.path / ".git/hooks/pre-receive"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text('#!/bin/sh\nprintf "no tags on \\033[31mFridays\\n" >&2\nexit 1\n')
    hook.chmod(0o755)
    calls = []

    async def propose(_: Snapshot) -> Change:
        calls.append(1)
        return Change({"x": b"1"}, "x")

    with pytest.raises(PushRejectedError, match=r"pre-receive hook declined.*: no tags on .*Fridays") as error:
        await push(repository, propose)
    assert "\033" not in str(error.value)
    assert len(calls) == 1


async def test_a_push_whose_answer_was_lost_is_not_repeated(open_git: Open, origin: Origin) -> None:
    origin.commit({"x": "0"})
    async with serving_git(origin.path.parent) as (server, url):
        server.loses = "/shop.git/git-receive-pack"
        repository = await open_git(Remote(f"{url}/shop.git"))
        pushed = await push(repository, writes({"x": b"1"}))
    assert pushed.commit == origin.git("rev-parse", "main")
    assert origin.git("rev-list", "--count", "main") == "2"


async def test_pushing_over_https_with_a_token(open_git: Open, origin: Origin, tmp_path: Path) -> None:
    origin.commit({"x": "0"})
    tls, authority = own_authority(tmp_path)
    async with serving_git(origin.path.parent, "t0ken", tls) as (_, url):
        repository = await open_git(Remote(f"{url}/shop.git", BasicAuth("git", "t0ken"), authority))
        pushed = await push(repository, writes({"x": b"1"}))
        assert pushed.commit == origin.git("rev-parse", "main")
        origin.git("config", "http.receivepack", "false")
        with pytest.raises(AuthenticationError, match="403"):
            await push(repository, writes({"x": b"2"}))


async def test_pushing_over_ssh(open_git: Open, origin: Origin, sshd: Sshd) -> None:
    origin.commit({"x": "0"})
    repository = await open_git(sshd.remote(origin.path))
    pushed = await push(repository, writes({"x": b"1"}))
    assert pushed.commit == origin.git("rev-parse", "main")


async def test_paths_that_are_refused(repository: Repository, origin: Origin) -> None:
    base = origin.head("main")
    odd = ("../x", "a/../../x", ".git/config", "a/.GIT/x", ".git\u200c/x", "git~1/x", ".git./x")
    for path in (*odd, "a\n", "", "a\\.git\\x", ".git::$INDEX_ALLOCATION/x"):
        with pytest.raises(GitAddressError):
            pytest.fail(f"{path!r}: {await push(repository, writes({path: b'1'}))}")
    assert origin.head("main") == base


async def test_an_edit_never_passes_a_link_or_a_submodule(repository: Repository, origin: Origin) -> None:
    os.symlink("/etc", origin.path / "link")
    origin.git("update-index", "--add", "--cacheinfo", f"160000,{'1' * 40},module")
    origin.git("add", "link")
    origin.git("commit", "-q", "-m", "odd")
    for path, told in {
        "link": "it is a link",
        "link/passwd": '"link" is a link',
        "module/x": '"module" is a submodule',
        "a": "it is a directory",
        "a/y/z": '"a/y" is a file',
    }.items():
        with pytest.raises(NotAFileError, match=told):
            await push(repository, writes({path: b"1"}))


async def test_a_change_of_many_files_is_one_commit(open_git: Open, origin: Origin) -> None:
    """Their names together are longer than the arguments of a program may be."""
    origin.commit({"x": "0"})
    repository = await open_git(Remote(origin.file_url))
    deep = "/".join(["d" * 200] * 9)
    files: dict[str, bytes | None] = {f"{deep}/{at:0200}": b"1" for at in range(1200)}
    pushed = await push(repository, writes(files))
    assert (pushed.attempts, origin.git("rev-list", "--count", "main")) == (1, "2")
    again = await push(repository, writes(dict.fromkeys(files)))
    assert again.base == pushed.commit
    assert origin.git("ls-tree", "--name-only", "main") == "x"


async def test_a_change_that_exceeds_the_limits_is_refused(open_git: Open, origin: Origin) -> None:
    origin.commit({"x": "0"})
    repository = await open_git(Remote(origin.file_url), files=1, total_bytes=10)
    with pytest.raises(TooLargeError, match="2 files; the limit is 1"):
        await push(repository, writes({"a": b"", "b": b""}))
    with pytest.raises(TooLargeError, match="11 bytes; the limit is 10"):
        await push(repository, writes({"a": b"1" * 11}))


async def test_what_is_no_branch_is_refused(repository: Repository) -> None:
    for branch in ("HEAD", "refs/tags/v1", "-f", "+main", "main:other", ""):
        with pytest.raises(GitAddressError):
            pytest.fail(f"{branch!r}: {await push(repository, writes({'a': b''}), branch)}")


@pytest.mark.parametrize("name", ["", "a\nb", "a <b>", ".,"])
def test_names_that_no_author_has(name: str) -> None:
    with pytest.raises(GitAddressError):
        Identity(name, "a@b")


def ssh_signing(folder: Path) -> tuple[Signing, list[str]]:
    command = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "x", "-f", str(folder / "key")]
    subprocess.run(command, check=True, timeout=30)
    (folder / "allowed").write_text(f"bot@example.org {(folder / 'key.pub').read_text()}")
    return SshSigning((folder / "key").read_text()), ["-c", f"gpg.ssh.allowedSignersFile={folder / 'allowed'}"]


def gpg_signing(folder: Path) -> tuple[Signing, list[str]]:
    # The path of a socket has at most 108 characters.
    home = tempfile.mkdtemp(prefix="gpg-", dir="/tmp")
    environment = {"GNUPGHOME": home, "PATH": os.environ["PATH"]}

    def gpg(*words: str) -> str:
        done = subprocess.run(["gpg", "--batch", *words], env=environment, check=True, capture_output=True, timeout=60)
        return done.stdout.decode()

    gpg("--passphrase", "", "--quick-gen-key", "bot <bot@example.org>", "ed25519", "sign")
    key = gpg("--export-secret-keys", "--armor")
    subprocess.run(["gpgconf", "--kill", "all"], env=environment, check=True, timeout=30)
    shutil.copytree(home, folder / ".gnupg")
    shutil.rmtree(home)
    return GpgSigning(key), []


@pytest.mark.parametrize("make", [ssh_signing, gpg_signing], ids=["ssh", "gpg"])
async def test_a_signed_commit_verifies(
    make: Callable[[Path], tuple[Signing, list[str]]], open_git: Open, origin: Origin, tmp_path: Path
) -> None:
    origin.commit({"x": "0"})
    # The home directory of `origin.git`.
    signing, words = make(origin.path.parent)
    by = Signature(author=BOT.author, committer=Identity("robot", "robot@example.org"), signing=signing)
    assert "PRIVATE" not in repr(by)
    repository = await open_git(Remote(origin.file_url))
    pushed = await push_change(repository, "main", writes({"x": b"1"}), by=by)
    assert pushed.commit
    assert origin.git(*words, "log", "-1", "--format=%G? %cn", "main") in ("G robot", "U robot")


async def test_a_key_that_cannot_sign_is_an_error(open_git: Open, origin: Origin) -> None:
    origin.commit({"x": "0"})
    repository = await open_git(Remote(origin.file_url))
    for signing in (SshSigning("nonsense"), GpgSigning("nonsense")):
        with pytest.raises(SigningError):
            await push_change(repository, "main", writes({"x": b"1"}), by=Signature(author=BOT.author, signing=signing))

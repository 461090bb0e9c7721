"""A Git repository on a server: its refs, its commits in a bare cache, and the changes between two of them.

    async with cache.open(Remote("https://example.org/shop.git", BasicAuth("git", token))) as repository:
        snapshot = repository.at(await repository.fetch("main"))
        text = await snapshot.file("deploy/web.yaml")

Promises, each with a test: nothing of the repository is executed; a fetch is shallow and incremental, without file
contents if the server supports that; a ref that has not moved costs one request; a repository beyond the limits is
refused; a cache that a crash has corrupted is replaced. Errors are `GitError`s, without credentials.
"""

from __future__ import annotations

import hashlib
import re
import shutil
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Final

import msgspec

from homeostat.external.git.access import ORIGIN, check_remote
from homeostat.external.git.errors import (
    AuthenticationError,
    GitAddressError,
    GitError,
    HostKeyError,
    InvalidRefError,
    MissingRefError,
    MissingRepositoryError,
    TooLargeError,
    UnreachableError,
)
from homeostat.external.git.lock import file_lock
from homeostat.external.git.program import Git
from homeostat.external.git.snapshot import Snapshot, computed, inner_path

KEPT: Final = "refs/homeostat/kept/"
_CHANGES: Final = 64 << 20
_FETCH: Final = ("fetch", "-q", "--no-tags", "--no-write-fetch-head", "--force")
Ask = Callable[[str], Awaitable[str | None]]
"""The commit of a full branch ref on the server, without a process; None if `git` has to be asked."""
_is_commit = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}", re.ASCII).fullmatch
_is_ref = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_./@+=#-]*", re.ASCII).fullmatch
_FINAL: Final = (
    GitAddressError,
    TooLargeError,
    AuthenticationError,
    HostKeyError,
    MissingRefError,
    MissingRepositoryError,
    UnreachableError,
)


class PathChange(msgspec.Struct, frozen=True, gc=False):
    """`kind` is git's letter: A added, M modified, D deleted, R renamed, T type changed (a file became a link)."""

    kind: str
    path: str
    old_path: str
    mode: str
    """Of the new side; all zeros where it is gone."""


class Repository:
    """Opened by `GitCache`, which locks the cache's directory while this is in use."""

    def __init__(self, git: Git, ask: Ask | None = None) -> None:
        check_remote(git.remote, git.protocols)
        self._git, self._ask = git, ask
        self._sources: dict[str, str] = {}

    @property
    def git(self) -> Git:
        return self._git

    async def refs(self, *patterns: str) -> dict[str, str]:
        """The commits of the server's refs by full name: all, or those that end with one of the patterns."""
        if any(each.startswith("-") for each in patterns):
            raise GitAddressError("a pattern of refs cannot start with a dash")
        limit = self._git.limits.refs
        done = await self._git.call("ls-remote", "-q", ORIGIN, *patterns, largest=limit * 128)
        if done.code:
            raise self._git.failure("ls-remote", done)
        if (count := done.stdout.count(b"\n")) > limit:
            raise TooLargeError(f"the repository has {count} refs; the limit is {limit}")
        return await computed(lambda: _refs(done.stdout), len(done.stdout))

    async def resolve(self, ref: str = "HEAD") -> tuple[str, str]:
        """Full name and commit of a ref on the server: a branch, else a tag, or a full `refs/...`."""
        check_ref(ref)
        if self._ask is not None and ref.startswith("refs/heads/") and (commit := await self._ask(ref)):
            return ref, commit
        is_full = ref == "HEAD" or ref.startswith("refs/")
        names = [ref] if is_full else [f"refs/heads/{ref}", f"refs/tags/{ref}"]
        found = await self.refs(*(each for name in names for each in (name, f"{name}^{{}}")))
        for name in names:
            if name in found:
                return name, found[name]
        raise MissingRefError(f'the repository has no branch and no tag "{ref}"')

    async def fetch(self, ref: str = "HEAD") -> str:
        """Fetches the current commit of a ref (as for `resolve`), or a commit by its id."""
        check_ref(ref)
        wanted, commit = (ref, ref) if _is_commit(ref) else await self.resolve(ref)
        kept = f"{KEPT}{hashlib.sha256(wanted.encode()).hexdigest()[:16]}"
        if not await self._has_commit(commit) or await self._kept_at(kept) != commit:
            commit = await self._keep(ref, wanted, commit, kept)
        self._sources[commit] = wanted
        return commit

    async def _keep(self, ref: str, wanted: str, commit: str, kept: str) -> str:
        async with self._writing() as lock:
            if await self._has_commit(commit):
                # Our own push, or another branch at the same commit.
                await self._git.output("update-ref", kept, commit)
                return commit
            await self._fetch_into(wanted, kept, lock)
        if found := await self._commit_at(kept):
            return found
        raise MissingRefError(f'the ref "{ref}" does not point to a commit')

    def at(self, commit: str) -> Snapshot:
        """The files of a fetched commit."""
        if not _is_commit(commit):
            raise GitAddressError(f"{commit[:300]!r} is not the id of a commit")
        return Snapshot(self._git, commit, self._fetch_files)

    async def changes(self, base: str, head: str, directory: str = "") -> list[PathChange]:
        """The differences between two commits, fetched if needed; an unchanged file at another path is one rename.

        `MissingRefError` if the server no longer has `base`: then the changes are unknown.
        """
        for commit in (base, head):
            if not _is_commit(commit):
                raise GitAddressError(f"{commit[:300]!r} is not the id of a commit")
            if not await self._commit_at(commit):
                await self.fetch(commit)
        words = ("diff-tree", "-r", "-z", "--raw", "--no-abbrev", "--no-commit-id", "-M100%", base, head)
        path = inner_path(directory)
        output = await self._git.output(*words, *(("--", path) if path else ()), largest=_CHANGES)
        # A rename has two paths; a colon that a name starts with counts, too, and is refused a little earlier.
        if (count := output.count(b"\0:") + 1) > self._git.limits.files:
            raise TooLargeError(f"{count} files changed; the limit is {self._git.limits.files}")
        return await computed(lambda: _changes(output), len(output))

    async def complete(self, commit: str) -> None:
        """Records that the parents of a commit are here, if a shallow fetch recorded the opposite.

        A commit that is created twice in one second has the same id, and a server without it refuses to receive one
        that ends the history.
        """
        path = self._git.bare / "shallow"
        if commit not in _read_lines(path):
            return
        async with self._writing():
            text = (await self._git.output("cat-file", "commit", commit)).decode(errors="replace")
            parents = [line.split()[1] for line in text.partition("\n\n")[0].splitlines() if line.startswith("parent ")]
            if all([await self._commit_at(each) for each in parents]):
                new = path.with_suffix(".new")
                new.write_bytes(_lines([each for each in _read_lines(path) if each != commit]))
                new.replace(path)

    async def _fetch_into(self, wanted: str, kept: str, lock: int) -> None:
        try:
            await _fetch_commit(self._git, wanted, kept, lock)
        except _FINAL:
            raise
        except GitError:
            # The server has just answered, so the cache may be corrupt. Others may still read it, so it stays for now.
            self._git = replace(self._git, bare=await create_bare(self._git))
            await _fetch_commit(self._git, wanted, kept, lock)

    async def _fetch_files(self, git: Git, commit: str, ids: Sequence[str]) -> None:
        lacking = await _lacking(git, ids)
        if not lacking:
            return
        async with self._writing() as lock:
            words = ("-c", "fetch.negotiationAlgorithm=noop", *_FETCH, "--filter=blob:none", "--stdin", ORIGIN)
            done = await git.call(*words, stdin=await _printed(lacking), lock=lock)
            if done.code:
                git.remove_partial_packs()
                error = git.failure("fetch", done)
                if not isinstance(error, MissingRefError):
                    raise error
                # The server does not send single files: fetch the whole commit.
                source = self._sources.get(commit, commit)
                await _fetch_commit(git, source, f"{KEPT}{commit[:16]}", lock, is_whole=True)

    async def _has_commit(self, commit: str) -> bool:
        words = ("--no-walk", "--ignore-missing", "--missing=allow-any", "--stdin")
        done = await self._git.run("rev-list", *words, stdin=_lines([commit]))
        return not done.code and done.stdout.decode().strip() == commit

    async def _kept_at(self, kept: str) -> str:
        """Read from its file, unless the refs were packed: a process takes longer."""
        try:
            return (self._git.bare / kept).read_text().strip()
        except OSError:
            return await self._commit_at(kept)

    async def _commit_at(self, name: str) -> str:
        done = await self._git.run("rev-parse", "-q", "--verify", f"{name}^{{commit}}")
        return "" if done.code else done.stdout.decode().strip()

    @asynccontextmanager
    async def _writing(self) -> AsyncIterator[int]:
        path = self._git.bare.parent / "write.lock"
        async with file_lock(path, timeout_s=self._git.limits.timeout_s) as lock:
            yield lock


async def _fetch_commit(git: Git, wanted: str, kept: str, lock: int, *, is_whole: bool = False) -> None:
    for left in (git.bare / "shallow.lock", git.bare / f"{kept}.lock"):
        # We hold the lock for fetching, so a lock file of git itself was left by a process that was killed.
        left.unlink(missing_ok=True)
    options = ("--refetch", "--no-filter") if is_whole else ("--filter=blob:none",)
    done = await git.call(*_FETCH, "--depth=1", *options, ORIGIN, f"+{wanted}:{kept}", lock=lock)
    if done.code:
        git.remove_partial_packs()
        raise git.failure("fetch", done)


async def _lacking(git: Git, ids: Sequence[str]) -> list[str]:
    words = ("--objects", "--no-object-names", "--ignore-missing", "--missing=allow-any", "--no-walk", "--stdin")
    output = await git.output("rev-list", *words, stdin=await _printed(ids), largest=100 * (len(ids) + 1))

    def lacking() -> list[str]:
        present = set(output.decode().split())
        return [each for each in ids if each not in present]

    return await computed(lacking, len(output))


def check_ref(ref: str) -> None:
    if not _is_ref(ref) or ".." in ref or ref.endswith((".lock", "/", ".")) or "//" in ref or "/." in ref:
        raise InvalidRefError(f"{ref[:300]!r} cannot be the name of a ref")


def newest_bare(directory: Path) -> Path | None:
    return max(directory.glob("bare.*"), key=_number, default=None)


async def create_bare(git: Git) -> Path:
    """A new bare repository beside those of the directory, renamed into place once complete. Needs the write lock."""
    directory = git.bare.parent
    newest, new = newest_bare(directory), directory / "new"
    shutil.rmtree(new, ignore_errors=True)
    made = replace(git, bare=new)
    done = await made.run("init", "-q", "--bare", "--template=", str(new))
    if done.code:
        raise made.failure("init", done)
    return new.rename(directory / f"bare.{_number(newest) + 1 if newest else 0}")


def _number(path: Path) -> int:
    return int(path.suffix[1:]) if path.suffix[1:].isdigit() else -1


def _read_lines(path: Path) -> list[str]:
    try:
        return path.read_text().split()
    except FileNotFoundError:
        return []


async def _printed(ids: Sequence[str]) -> bytes:
    return await computed(lambda: _lines(ids), 41 * len(ids))


def _lines(ids: Sequence[str]) -> bytes:
    return "".join(f"{each}\n" for each in ids).encode()


def _refs(output: bytes) -> dict[str, str]:
    rows = (line.split("\t") for line in output.decode(errors="replace").splitlines())
    found = {row[1]: row[0] for row in rows if len(row) == 2}
    peeled = {name.removesuffix("^{}"): commit for name, commit in found.items() if name.endswith("^{}")}
    return {name: peeled.get(name, commit) for name, commit in found.items() if not name.endswith("^{}")}


def _changes(output: bytes) -> list[PathChange]:
    """`:old_mode new_mode old_id new_id LETTER NUL path NUL`, and a second path for a rename."""
    found, parts = [], iter(output.decode(errors="replace").split("\0"))
    for head in parts:
        if head:
            _, mode, _, _, letter = head.split(" ")
            first = next(parts)
            path = next(parts) if letter[0] in "RC" else first
            found.append(PathChange(letter[0], path, first, mode))
    return found

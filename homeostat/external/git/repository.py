"""A Git repository, read from afar: a ref is fetched into a bare cache, and its files are read without a checkout.

    repository = Repository(directory, Remote("https://example.org/shop.git", Token(token)))
    commit = await repository.fetch("main")
    files = [each for each in await repository.tree(commit, "resources") if each.is_file]
    texts = await repository.read(files)

Promises, each with a test: nothing of the repository is executed (no hooks, filters, submodules, no working tree at
all); fetching is shallow, and sends only what is new; a ref that has not moved costs one question; what is larger than
the limits is refused and not half read; a cache that a crash has left broken is made anew. Links are told as what they
are and never followed. `GitError` and `ProcessError` say what went wrong, without credentials.
"""

from __future__ import annotations

import hashlib
import re
import shutil
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Final

from homeostat.external.git.access import PROTOCOLS, GitAddressError, GitError, Remote, check_remote, isolated, reached
from homeostat.external.process import Finished, OutputTooLargeError, Program, locked, run_program

__all__ = ["GitError", "Limits", "MissingRefError", "Remote", "Repository", "TooLargeError", "TreeEntry"]

_MOST_PACKS: Final = 10
_LONGEST_TOLD: Final = 300
_BLOCK: Final = 512
_WRITING: Final = frozenset({"init", "fetch", "gc"})
_LIMITED: Final = 'ulimit -f "$1" && shift && exec "$@"'
_is_commit = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}", re.ASCII).fullmatch
_is_ref = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_./@+=#-]*", re.ASCII).fullmatch


class MissingRefError(GitError):
    """The server has no such ref, or the commit has no such directory."""

    reason = "RefMissing"


class TooLargeError(GitError):
    reason = "RepositoryTooLarge"


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """`pack_bytes` counts for all that one fetch brings."""

    pack_bytes: int = 256 << 20
    files: int = 10_000
    file_bytes: int = 1 << 20
    total_bytes: int = 64 << 20
    depth: int = 32
    timeout_s: float = 120.0


@dataclass(frozen=True, slots=True)
class TreeEntry:
    """`path` is below the directory that was asked for."""

    path: str
    mode: str
    id: str
    size: int

    @property
    def is_file(self) -> bool:
        return self.mode.startswith("100")

    @property
    def is_link(self) -> bool:
        return self.mode == "120000"

    @property
    def is_submodule(self) -> bool:
        return self.mode == "160000"


class Repository:
    """One directory of the cache is for one remote and one process at a time."""

    def __init__(
        self,
        directory: Path,
        remote: Remote,
        *,
        limits: Limits | None = None,
        protocols: Collection[str] = PROTOCOLS,
    ) -> None:
        self._directory, self._remote, self._protocols = directory, remote, protocols
        self._limits = limits or Limits()
        check_remote(remote, protocols)

    async def fetch(self, ref: str = "HEAD") -> str:
        """The commit that the ref is at now: a branch, else a tag, a full `refs/...`, or the id of a commit."""
        if not _is_ref(ref) or ".." in ref:
            raise GitAddressError(f'"{ref[:_LONGEST_TOLD]}" cannot be the name of a ref')
        self._directory.mkdir(parents=True, exist_ok=True)
        kept = f"refs/homeostat/{hashlib.sha256(ref.encode()).hexdigest()[:16]}"
        wanted, commit = (ref, ref) if _is_commit(ref) else await self._resolve(ref)
        await self._open()
        if await self._commit_at(kept) == commit:
            return commit
        try:
            await self._bring(wanted, kept)
        except TooLargeError:
            raise
        except GitError:
            # The server has just answered, so it may be the cache: what a crash left there goes.
            await self._open(is_new=True)
            await self._bring(wanted, kept)
        found = await self._commit_at(kept)
        if not found:
            raise MissingRefError(f'the ref "{ref}" leads to no commit')
        await self._tidy()
        return found

    async def tree(self, commit: str, directory: str = "") -> list[TreeEntry]:
        """All that is below a directory, links and submodules too; `MissingRefError` where there is none."""
        path = _inner(directory)
        try:
            done = await self._git("ls-tree", "-r", "-l", "-z", "--full-tree", f"{commit}:{path}", largest=16 << 20)
        except OutputTooLargeError as error:
            raise TooLargeError(f'the directory "{path or "/"}" has too many files') from error
        if done.code:
            raise MissingRefError(f'the commit {commit[:12]} has no directory "{path or "/"}"')
        entries = [_entry(each) for each in done.stdout.split(b"\0") if each]
        if len(entries) > self._limits.files:
            told = f"has {len(entries)} files, and at most {self._limits.files} are read"
            raise TooLargeError(f'the directory "{path or "/"}" {told}')
        if deep := next((each for each in entries if each.path.count("/") >= self._limits.depth), None):
            raise TooLargeError(f'"{deep.path}" is more than {self._limits.depth} directories deep')
        return entries

    async def read(self, entries: Sequence[TreeEntry]) -> list[bytes]:
        """What is in these files, in this order. Those of them that are links hold where they lead to."""
        if large := next((each for each in entries if each.size > self._limits.file_bytes), None):
            raise TooLargeError(
                f'"{large.path}" has {large.size} bytes, and at most {self._limits.file_bytes} are read'
            )
        total = sum(each.size for each in entries)
        if total > self._limits.total_bytes:
            told = f"{len(entries)} files have {total} bytes together, and at most {self._limits.total_bytes} are read"
            raise TooLargeError(told)
        if not entries:
            return []
        asked = b"".join(f"{each.id}\n".encode() for each in entries)
        done = await self._git("cat-file", "--batch", stdin=asked, largest=total + 200 * len(entries))
        if done.code:
            raise _failed("cat-file", done)
        return _contents(done.stdout, entries)

    async def _resolve(self, ref: str) -> tuple[str, str]:
        """The full name of the ref, and the commit that the server has there."""
        is_full = ref == "HEAD" or ref.startswith("refs/")
        names = [ref] if is_full else [f"refs/heads/{ref}", f"refs/tags/{ref}"]
        asked = [each for name in names for each in (name, f"{name}^{{}}")]
        done = await self._git("ls-remote", "--", self._remote.url, *asked, is_remote=True)
        if done.code:
            raise _failed("ls-remote", done)
        rows = (line.split("\t") for line in done.stdout.decode(errors="replace").splitlines())
        found = {row[1]: row[0] for row in rows if len(row) == 2}
        for name in names:
            if name in found:
                return name, found.get(f"{name}^{{}}", found[name])
        raise MissingRefError(f'the repository has no branch and no tag "{ref}"')

    async def _open(self, *, is_new: bool = False) -> None:
        bare = self._bare
        with locked(self._lock, "git"):
            if is_new:
                shutil.rmtree(bare, ignore_errors=True)
            # Nobody else is at work here: a lock of git's own was left by one that was killed.
            for left in (*bare.glob("*.lock"), *bare.glob("refs/**/*.lock")):
                left.unlink(missing_ok=True)
        if not (bare / "HEAD").exists():
            await self._checked("init", "-q", "--bare", "--template=", str(bare))

    async def _bring(self, wanted: str, kept: str) -> None:
        words = ["fetch", "-q", "--depth=1", "--no-tags", "--no-write-fetch-head", "--force"]
        done = await self._git(*words, "--", self._remote.url, f"+{wanted}:{kept}", is_remote=True)
        if done.code:
            self._check_pack()
            raise _failed("fetch", done)

    def _check_pack(self) -> None:
        """What a fetch that failed has left: as much as it may bring, if it was stopped for that."""
        left = [each for each in self._bare.glob("objects/pack/tmp_*") if each.is_file()]
        is_full = any(each.stat().st_size + _BLOCK >= self._limits.pack_bytes for each in left)
        for each in left:
            each.unlink(missing_ok=True)
        if is_full:
            raise TooLargeError(f"fetching was stopped: it would bring more than {self._limits.pack_bytes} bytes")

    async def _commit_at(self, name: str) -> str:
        done = await self._git("rev-parse", "-q", "--verify", f"{name}^{{commit}}")
        return "" if done.code else done.stdout.decode().strip()

    async def _tidy(self) -> None:
        packs = len(list(self._bare.glob("objects/pack/*.pack"))) + len(list(self._bare.glob("objects/??")))
        if packs > _MOST_PACKS:
            # What older commits had is of no use any more.
            (self._bare / "FETCH_HEAD").unlink(missing_ok=True)
            await self._checked("gc", "-q", "--prune=now")

    @property
    def _bare(self) -> Path:
        return self._directory / "bare"

    @property
    def _lock(self) -> Path:
        return self._directory / "homeostat.lock"

    async def _checked(self, *words: str) -> None:
        done = await self._git(*words)
        if done.code:
            raise _failed(words[0], done)

    async def _git(self, *words: str, stdin: bytes = b"", largest: int = 1 << 20, is_remote: bool = False) -> Finished:
        if not is_remote:
            return await self._run(words, isolated({}), stdin, largest)
        with reached(self._remote, self._protocols, self._directory) as environment:
            return await self._run(words, environment, stdin, largest)

    async def _run(self, words: Sequence[str], environment: dict[str, str], stdin: bytes, largest: int) -> Finished:
        limit = str(max(self._limits.pack_bytes // _BLOCK, 1))
        return await run_program(
            Program(
                arguments=["/bin/sh", "-c", _LIMITED, "sh", limit, "git", *words],
                directory=self._directory,
                environment={**environment, "GIT_DIR": str(self._bare)},
                stdin=stdin,
                timeout_s=self._limits.timeout_s,
                largest_output=largest,
                lock=self._lock if words[0] in _WRITING else None,
            )
        )


def _inner(directory: str) -> str:
    parts = [each for each in PurePosixPath(directory).parts if each != "/"]
    if ".." in parts or any(ord(each) < 32 for each in directory):
        raise GitAddressError(f'"{directory[:_LONGEST_TOLD]!r}" is no directory within a repository')
    return "/".join(parts)


def _entry(line: bytes) -> TreeEntry:
    facts, _, path = line.partition(b"\t")
    mode, _, identity, size = facts.split()
    return TreeEntry(path.decode(errors="replace"), mode.decode(), identity.decode(), int(size) if size != b"-" else 0)


def _contents(output: bytes, entries: Sequence[TreeEntry]) -> list[bytes]:
    """`cat-file --batch` answers with a line of id, type and size, the content, and a newline."""
    found, at = [], 0
    for each in entries:
        end = output.find(b"\n", at)
        head = output[at:end].split()
        if end < 0 or len(head) != 3 or head[1] != b"blob":
            raise GitError(f'"{each.path}" cannot be read from the cache')
        size = int(head[2])
        found.append(output[end + 1 : end + 1 + size])
        at = end + 2 + size
    return found


def _failed(word: str, done: Finished) -> GitError:
    lines = [each for each in done.stderr.decode(errors="replace").splitlines() if each.strip()]
    told = next((each for each in lines if each.startswith(("fatal:", "error:"))), lines[-1] if lines else "")
    return GitError(f"git {word}: {told[:_LONGEST_TOLD] or f'it ended with {done.code}'}")

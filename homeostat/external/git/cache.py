"""The caches of Git repositories below one directory: one for each URL and owner of credentials.

Processes share them. A user of a cache holds a shared lock on it, and a cache is cleaned only while nobody uses it, so
a fetched commit stays readable until `open` ends. The total size is bounded: the least recently used caches are removed
first.
"""

from __future__ import annotations

import asyncio
import os
import secrets
import shutil
from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Final

from homeostat.external.files import make_private
from homeostat.external.git.access import PROTOCOLS, Remote, check_remote, ssh_server
from homeostat.external.git.advertisement import branch_head, is_readable
from homeostat.external.git.commit import SCRATCH
from homeostat.external.git.errors import GitError
from homeostat.external.git.lock import file_lock, idle_lock
from homeostat.external.git.program import Git, GitLimits
from homeostat.external.git.repository import Ask, Repository, create_bare, newest_bare
from homeostat.external.rest.client import RestClient

_LARGEST: Final = 4 << 30
_MOST_SSH: Final = 6
"""Connections to one server at once: by default sshd drops some once ten have not logged in yet."""
_MOST_SERVERS: Final = 256
_MOST_PACKS: Final = 10
_GROWTH: Final = 4
_SLACK: Final = 64
_FIRST_SIZE: Final = "homeostat-first-size"
_USED: Final = "use.lock"
_GONE: Final = ".gone"


class GitCache:
    """`largest_bytes` limits all repositories together. One repository may use half of it, and is fetched again once it
    has grown to several times its first size: Git does not shrink a partial clone. With `rest`, the head of a branch is
    asked of HTTP servers without a process.
    """

    def __init__(
        self,
        directory: Path,
        *,
        limits: GitLimits | None = None,
        largest_bytes: int = _LARGEST,
        protocols: Collection[str] = PROTOCOLS,
        rest: RestClient | None = None,
    ) -> None:
        self._rest = rest
        self._directory, self._limits = directory, limits or GitLimits()
        self._largest, self._protocols = largest_bytes, protocols
        self._slots: dict[str, asyncio.Semaphore] = {}
        """By server of ssh."""

    @asynccontextmanager
    async def open(self, remote: Remote) -> AsyncIterator[Repository]:
        check_remote(remote, self._protocols)
        directory = self._directory / remote.key
        git = self._git(directory / "bare.0", remote)
        try:
            with idle_lock(directory / _USED) as lock:
                if lock is not None:
                    await self._clean(replace(git, inherited=(lock,)))
            async with file_lock(directory / _USED, timeout_s=self._limits.timeout_s, is_shared=True) as used:
                os.utime(directory / _USED)
                bare = newest_bare(directory) or await self._create(git)
                yield Repository(replace(git, bare=bare, inherited=(used,)), self._ask(remote))
        finally:
            # Also after a failure: something may have been fetched before it.
            await asyncio.to_thread(self._evict)

    async def resolve(self, remote: Remote, ref: str = "HEAD") -> str:
        """The current commit of a ref on the server, as `Repository.resolve` finds it. Nothing is kept of it."""
        check_remote(remote, self._protocols)
        make_private(self._directory)
        # Listing refs needs no repository, so git is given a place where there is none.
        return (await Repository(self._git(self._directory / "none", remote), self._ask(remote)).resolve(ref))[1]

    def _ask(self, remote: Remote) -> Ask | None:
        rest = self._rest
        if rest is None or not is_readable(remote):
            return None
        return lambda ref: branch_head(rest, remote, ref)

    def _git(self, bare: Path, remote: Remote) -> Git:
        server = ssh_server(remote.url)
        if server and server not in self._slots:
            if len(self._slots) >= _MOST_SERVERS:
                self._slots.clear()
            self._slots[server] = asyncio.Semaphore(_MOST_SSH)
        return Git(
            bare=bare,
            remote=remote,
            limits=self._limits,
            protocols=self._protocols,
            slots=self._slots[server] if server else None,
        )

    async def _create(self, git: Git) -> Path:
        directory = git.bare.parent
        async with file_lock(directory / "write.lock", timeout_s=self._limits.timeout_s):
            return newest_bare(directory) or await create_bare(git)

    async def _clean(self, git: Git) -> None:
        """Removes what a crash or a replaced cache has left, and a repository that grew too large."""
        bare = await asyncio.to_thread(self._clear, git.bare.parent)
        if bare is None or len([*bare.glob("objects/pack/*.pack"), *bare.glob("objects/??")]) <= _MOST_PACKS:
            return
        try:
            await replace(git, bare=bare).output("gc", "-q", "--prune=now")
        except GitError:
            # Broken, or too large to clean in time: fetching it again is quicker.
            await asyncio.to_thread(shutil.rmtree, bare, ignore_errors=True)

    def _clear(self, directory: Path) -> Path | None:
        """The bare repository that remains."""
        found = sorted(directory.glob("bare.*"), key=lambda each: (len(each.name), each.name))
        for each in (*found[:-1], *directory.glob("access-*")):
            shutil.rmtree(each, ignore_errors=True)
        if not found:
            return None
        bare = found[-1]
        if not (bare / "HEAD").exists() or self._is_outgrown(bare):
            shutil.rmtree(bare, ignore_errors=True)
            return None
        for pattern in ("*.lock", "refs/**/*.lock", "objects/pack/tmp_*"):
            for each in bare.glob(pattern):
                each.unlink(missing_ok=True)
        shutil.rmtree(bare / SCRATCH, ignore_errors=True)
        return bare

    def _is_outgrown(self, bare: Path) -> bool:
        size, first = _size(bare), bare / _FIRST_SIZE
        began = first.read_text() if first.exists() else ""
        if not began.isdecimal():
            # The file does not exist yet, or a full disk truncated it.
            first.write_text(began := str(size))
        return size > min(self._largest // 2, _GROWTH * int(began) + self._largest // _SLACK)

    def _evict(self) -> None:
        for each in self._directory.glob(f"*{_GONE}"):
            # Left by an interrupted eviction.
            shutil.rmtree(each, ignore_errors=True)
        caches = [each for each in self._directory.iterdir() if (each / _USED).exists()]
        total = sum(map(_size, caches))
        for each in sorted(caches, key=_used_ns):
            if total <= self._largest:
                return
            with idle_lock(each / _USED) as lock:
                if lock is not None:
                    total -= _size(each)
                    # Renamed first, so that nobody opens a cache that is being removed.
                    gone = each.rename(each.with_name(f"{each.name}.{secrets.token_hex(8)}{_GONE}"))
                    shutil.rmtree(gone, ignore_errors=True)


def _used_ns(cache: Path) -> int:
    try:
        return (cache / _USED).stat().st_mtime_ns
    except FileNotFoundError:
        # Another process is creating or removing it.
        return 0


def _size(directory: Path) -> int:
    total = 0
    for folder, _, names in os.walk(directory):
        for name in names:
            try:
                total += os.lstat(os.path.join(folder, name)).st_size
            except FileNotFoundError:
                continue
    return total

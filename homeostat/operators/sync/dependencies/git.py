"""The cache of repositories: the commit of a branch, and the files of a commit out of the object store.

Nothing is checked out. A reader of a commit holds a lock on the cache, so a fetch at the same time cannot take away
what is being read.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

from homeostat.external.git.access import Remote
from homeostat.external.git.cache import GitCache
from homeostat.external.git.errors import MissingRefError
from homeostat.external.git.program import GitLimits
from homeostat.external.git.repository import Repository
from homeostat.operators.sync.engine.tree.directory import LARGEST_FILE

MOST_FILES: Final = 200_000
MOST_BYTES: Final = 256 << 20
FETCH_TIMEOUT_S: Final = 300.0
_LIMITS: Final = GitLimits(
    pack_bytes=1 << 30,
    files=MOST_FILES,
    file_bytes=LARGEST_FILE,
    total_bytes=MOST_BYTES,
    depth=64,
    timeout_s=FETCH_TIMEOUT_S,
)


class Repositories:
    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._cache = GitCache(directory, limits=_LIMITS)

    def path(self, remote: Remote) -> str:
        return str(self._directory / remote.key)

    async def fetch(self, remote: Remote, branch: str) -> str:
        """The commit of the branch, which is in the cache then. `GitError`."""
        async with self._cache.open(remote) as repository:
            try:
                return await repository.fetch(f"refs/heads/{branch}")
            except MissingRefError as error:
                raise MissingRefError(f'the repository has no branch "{branch}"; check spec.git.branch') from error

    @asynccontextmanager
    async def open(self, remote: Remote) -> AsyncIterator[Repository]:
        async with self._cache.open(remote) as repository:
            yield repository

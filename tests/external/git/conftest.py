from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from homeostat.external.git.access import PROTOCOLS, Remote
from homeostat.external.git.cache import GitCache
from homeostat.external.git.program import GitLimits
from homeostat.external.git.repository import Repository
from tests.external.git.opened import Open
from tests.external.git_servers import Origin, Sshd, running_sshd


@pytest.fixture
def origin(tmp_path: Path) -> Origin:
    return Origin(tmp_path / "served" / "shop.git")


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    return tmp_path / "cache"


@pytest.fixture
async def open_git(cache: Path) -> AsyncIterator[Open]:
    async with AsyncExitStack() as opened:

        async def open_git(remote: Remote, **limits: float) -> Repository:
            """With the protocol `file`, which nobody has unless they ask for it."""
            protocols = PROTOCOLS | {"file"}
            return await opened.enter_async_context(
                GitCache(cache, limits=GitLimits(**limits), protocols=protocols).open(remote)  # type: ignore[arg-type]
            )

        yield open_git


@pytest.fixture
def sshd(tmp_path: Path) -> Iterator[Sshd]:
    folder = tmp_path / "sshd"
    folder.mkdir()
    with running_sshd(folder) as running:
        yield running

from __future__ import annotations

import re
import shlex
import shutil
import sys
from asyncio import wait_for
from asyncio.subprocess import create_subprocess_exec
from pathlib import Path

from homeostat.plane import Settings, open_plane
from tests.docs.documents import text_of

_COMMAND = re.compile(r"^python3 -c .*? ~/\.homeostat/homeostat\.db homeostat\.db$", re.MULTILINE | re.DOTALL)
_SECRETS = "/api/v1/namespaces/default/secrets"
_SECRET = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "kept"}, "stringData": {"word": "quince"}}


def _copy_command(database: Path, copy: Path) -> list[str]:
    """The backup command of the guide, with these files in the place of its own."""
    found = _COMMAND.search(text_of("docs/operating.md"))
    assert found is not None
    program, *arguments = shlex.split(found[0])
    assert (program, arguments[-2:]) == ("python3", ["~/.homeostat/homeostat.db", "homeostat.db"])
    return [sys.executable, *arguments[:-2], str(database), str(copy)]


async def test_a_copy_made_while_a_plane_runs_restores_what_was_written(tmp_path: Path) -> None:
    data, restored = tmp_path / "data", tmp_path / "restored"
    restored.mkdir()
    async with open_plane(Settings(data=data, port=0)) as plane:
        await plane.client.create(_SECRETS, _SECRET)
        copying = await create_subprocess_exec(*_copy_command(data / "homeostat.db", restored / "homeostat.db"))
        assert await wait_for(copying.wait(), 20) == 0
        for kept in ("pki", "seal.key"):
            copy = shutil.copytree if (data / kept).is_dir() else shutil.copy2
            copy(data / kept, restored / kept)
        await plane.client.delete(f"{_SECRETS}/kept")
    async with open_plane(Settings(data=restored, port=0)) as plane:
        assert (await plane.client.get(f"{_SECRETS}/kept"))["data"] == {"word": "cXVpbmNl"}

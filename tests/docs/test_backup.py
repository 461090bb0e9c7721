"""The commands of the guide, as they stand there, on a plane that runs."""

from __future__ import annotations

import re
import shlex
import shutil
import sys
from asyncio import wait_for
from asyncio.subprocess import create_subprocess_exec
from pathlib import Path

import pytest

from homeostat.plane import Settings, open_plane
from tests.docs.documents import text_of

_SECTION = re.compile(r"^## Backup and restore\n(.*?)^## ", re.MULTILINE | re.DOTALL)
_COMMANDS = re.compile(r"^homeostat (.+)$", re.MULTILINE)
_SECRETS = "/api/v1/namespaces/default/secrets"
_SECRET = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "kept"}, "stringData": {"word": "quince"}}
_KEYS = ("pki", "seal.key")


def _commands(verb: str) -> list[list[str]]:
    section = _SECTION.search(text_of("docs/operating.md"))
    assert section is not None
    found = [shlex.split(command) for command in _COMMANDS.findall(section[1])]
    return [words for words in found if words[0] == verb]


async def _run(words: list[str], folder: Path, data: Path) -> None:
    program = str(Path(sys.executable).with_name("homeostat"))
    running = await create_subprocess_exec(program, *words, cwd=folder, env={"HOMEOSTAT_DATA": str(data)})
    assert await wait_for(running.wait(), 30) == 0


def _copy_keys(data: Path, to: Path) -> None:
    to.mkdir()
    for kept in _KEYS:
        copy = shutil.copytree if (data / kept).is_dir() else shutil.copy2
        copy(data / kept, to / kept)


async def test_a_backup_made_while_a_plane_runs_restores_what_was_written(tmp_path: Path) -> None:
    data, copies = tmp_path / "data", (tmp_path / "restored", tmp_path / "drill")
    async with open_plane(Settings(data=data, port=0)) as plane:
        await plane.client.create(_SECRETS, _SECRET)
        for words in _commands("backup"):
            await _run(words, tmp_path, data)
        await plane.client.delete(f"{_SECRETS}/kept")
    for copy in copies:
        _copy_keys(data, copy)
    for words in _commands("restore"):
        await _run(words, tmp_path, data)
    for copy in copies:
        async with open_plane(Settings(data=copy, port=0)) as plane:
            assert (await plane.client.get(f"{_SECRETS}/kept"))["data"] == {"word": "cXVpbmNl"}


@pytest.mark.parametrize(("verb", "count"), [("backup", 3), ("restore", 2), ("migrate-store", 1)])
def test_the_guide_has_a_command_for_each(verb: str, count: int) -> None:
    assert len(_commands(verb)) == count

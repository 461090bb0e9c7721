"""The command that installs an extra is that of the program that made this installation."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from homeostat.edge.process.extras import install_command

WANTED = "'homeostat-plane[jq]'"
SOURCE = "SOURCE"
"""Where this installation is from, as its own package says."""


@pytest.mark.parametrize(
    ("made", "command"),
    [
        ("venv/pyvenv.cfg", f"pip install {WANTED}"),
        ("venvs/homeostat-plane/pipx_metadata.json", f"pipx inject homeostat-plane {WANTED}"),
        ("tools/homeostat-plane/uv-receipt.toml", f"uv tool install --with {WANTED} {SOURCE}"),
        ("archive-v0/2I737y/pyvenv.cfg", f"uvx --with {WANTED} --from {SOURCE} homeostat"),
    ],
    ids=["pip", "pipx", "uv tool", "uvx"],
)
def test_an_extra_is_installed_by_what_made_the_installation(
    made: str, command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mark = tmp_path / made
    mark.parent.mkdir(parents=True)
    mark.touch()
    monkeypatch.setattr(sys, "prefix", str(mark.parent))
    monkeypatch.setenv("UV", "/usr/bin/uv")
    before, _, after = command.partition(SOURCE)
    found = install_command("jq")
    assert found.startswith(before)
    assert found.endswith(after)
    assert (found == command) == (SOURCE not in command)


def test_a_virtual_environment_of_uv_has_no_pip(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "pyvenv.cfg").write_text("home = /usr/bin\nuv = 0.8.1\nversion_info = 3.11.2\n")
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    assert install_command("jq") == f"uv pip install {WANTED}"

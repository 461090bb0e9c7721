"""The sessions of docs/cli.md and of the readme print what they show, and the page names every command."""

from __future__ import annotations

import re
import subprocess
from itertools import pairwise
from pathlib import Path
from shutil import copytree

import click

from homeostat.cli.console.output import OutputForm
from homeostat.cli.main import main
from tests.cli.running import Up, make_cli, running
from tests.docs.documents import ROOT, text_of
from tests.processes import path_for_shells

_fences = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL).findall
_times = re.compile(r"\b\d+s\b|\b\d+\.\d+\b")


def section(name: str, document: str = "docs/cli.md") -> str:
    return text_of(document).partition(f"\n## {name}\n")[2].partition("\n## ")[0]


def run_session(text: str, up: Up, directory: Path) -> int:
    """Runs the commands of a section; returns how many outputs were compared with those that it shows."""
    compared = 0
    for (language, code), (following, printed) in pairwise([*_fences(text), ("", "")]):
        if language != "sh":
            continue
        done = subprocess.run(
            ["bash", "-e", "-c", code],
            cwd=directory,
            env={**up.cli.environment, "PATH": path_for_shells()},
            capture_output=True,
            text=True,
            timeout=50,
        )
        assert done.returncode == 0, (code, done.stderr)
        if following == "text":
            compared += 1
            assert _plain(done.stdout).endswith(_plain(printed)), code
    return compared


def _plain(text: str) -> str:
    """Without ages, seconds and widths of columns."""
    return re.sub(r" +", " ", _times.sub("1", text))


def test_the_session_prints_what_it_shows(tmp_path: Path) -> None:
    with running(make_cli(tmp_path / "data")) as up:
        assert run_session(section("Objects from start to end"), up, ROOT) == 3


def test_the_resource_of_two_minutes_drifts_and_is_repaired(tmp_path: Path) -> None:
    notes = Path(copytree(ROOT / "examples" / "notes", tmp_path / "examples" / "notes"))
    (notes / "type.yaml").write_text((notes / "type.yaml").read_text().replace('"/tmp"', f'"{tmp_path}"'))
    text = section("In two minutes", "docs/actions.md").replace("/tmp/", f"{tmp_path}/")
    with running(make_cli(tmp_path / "data"), "--allow-programs") as up:
        assert run_session(text, up, tmp_path) == 1


def test_every_command_is_in_the_table() -> None:
    named = set(re.findall(r"`([a-z-]+)`", section("Commands")))
    assert set(main.list_commands(click.Context(main))) <= named


def test_every_form_of_output_is_in_the_table() -> None:
    forms = {
        each.value.rstrip("=") for each in OutputForm().shell_complete(click.Context(main), click.Option(["-o"]), "")
    }
    named = set(re.findall(r"`([a-z]+)(?:=TEMPLATE)?`", section("Output").partition("```")[0]))
    assert forms <= named

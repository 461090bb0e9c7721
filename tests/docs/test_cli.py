"""docs/cli.md: its session does what it shows, and it names every command."""

from __future__ import annotations

import re
import subprocess
from itertools import pairwise
from pathlib import Path

import click

from homeostat.cli.console.output import OutputForm
from homeostat.cli.main import main
from tests.cli.running import HOMEOSTAT, make_cli, running
from tests.docs.documents import ROOT, text_of

_fences = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL).findall
_aged = re.compile(r"\b\d+s$", re.MULTILINE)


def section(name: str) -> str:
    return text_of("docs/cli.md").partition(f"\n## {name}\n")[2].partition("\n## ")[0]


def test_the_session_prints_what_it_shows(tmp_path: Path) -> None:
    with running(make_cli(tmp_path / "data", tmp_path / "bytecode")) as up:
        path = f"{Path(HOMEOSTAT).parent}:{up.cli.environment['PATH']}"
        fences = [*_fences(section("Objects from start to end")), ("", "")]
        shown = 0
        for (language, code), (following, printed) in pairwise(fences):
            if language != "sh":
                continue
            done = subprocess.run(
                ["bash", "-e", "-c", code],
                cwd=ROOT,
                env={**up.cli.environment, "PATH": path},
                capture_output=True,
                text=True,
                timeout=50,
            )
            assert done.returncode == 0, (code, done.stderr)
            if following == "text":
                shown += 1
                assert _aged.sub("1s", done.stdout).endswith(printed), code
    assert shown == 3


def test_every_command_is_in_the_table() -> None:
    named = set(re.findall(r"`([a-z-]+)`", section("Commands")))
    assert set(main.list_commands(click.Context(main))) <= named


def test_every_form_of_output_is_in_the_table() -> None:
    forms = {
        each.value.rstrip("=") for each in OutputForm().shell_complete(click.Context(main), click.Option(["-o"]), "")
    }
    named = set(re.findall(r"`([a-z]+)(?:=TEMPLATE)?`", section("Output").partition("```")[0]))
    assert forms <= named

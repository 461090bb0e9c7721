"""Errors are one line, and the exit code says of which sort they are."""

from __future__ import annotations

from pathlib import Path

import click
import pytest

from homeostat.cli.main import main
from tests.cli.running import Cli, Up

NOWHERE = """
apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: "http://127.0.0.1:1"}}]
contexts: [{name: c, context: {cluster: c}}]
current-context: c
"""


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        pytest.param(["get", "confgmaps"], 1, 'did you mean "configmaps"?', id="a kind with a typo"),
        pytest.param(["get", "foos"], 1, 'no kind "foos"; list all kinds with homeostat api-', id="no such kind"),
        pytest.param(["get", "cm", "missing"], 1, 'configmaps "missing" not found', id="an object that is not there"),
        pytest.param(["get", "cm", "-l", "a in"], 1, "unable to parse", id="a selector that does not parse"),
        pytest.param(["get", "cm/a", "secret"], 2, "KIND/NAME", id="forms mixed"),
        pytest.param(["get"], 2, "pass a KIND, or --raw PATH", id="no kind"),
        pytest.param(["get", "ns", "-o", "xml"], 2, "'xml' is not one of table, wide", id="an unknown form"),
        pytest.param(
            ["get", "ns", "--context", "other"],
            1,
            'no context named "other"; it has: homeostat',
            id="an unknown context",
        ),
        pytest.param(["delete", "cm"], 2, "NAME", id="a delete without a name"),
        pytest.param(["delete"], 2, "-f FILE", id="a delete of nothing"),
        pytest.param(["apply", "-f", "/no/such/file"], 2, "/no/such/file", id="a file that is not there"),
        pytest.param(["apply", "-f", "-"], 1, "no objects in standard input", id="an apply of empty input"),
        pytest.param(["apply"], 2, "--filename", id="an apply of nothing"),
        pytest.param(["gte", "ns"], 2, 'no command "gte"; did you mean "get"?', id="a command with a typo"),
        pytest.param(["token", "lst"], 2, 'did you mean "list"? See: homeostat token --help', id="one of a group"),
        pytest.param(["get", "ns", "--outptu", "json"], 2, "did you mean --output?", id="an option with a typo"),
        pytest.param(["get", "ns", "-o", "jsonpath={.a"], 2, "has no counterpart", id="half a template"),
        pytest.param(["create", "ns", "a"], 2, "use: homeostat apply -f FILE", id="a command of kubectl"),
        pytest.param(["get", "cm", "-n", "nope"], 0, 'there is no namespace "nope"', id="a namespace with a typo"),
        pytest.param(["nonsense"], 2, 'no command "nonsense"; see: homeostat --help', id="an unknown command"),
    ],
)
def test_bad_input_is_one_line_and_never_a_traceback(up: Up, arguments: list[str], code: int, words: str) -> None:
    ended = up.cli.here(*arguments)
    assert (ended.code, ended.out) == (code, "")
    assert words in ended.err
    assert ended.err.startswith("error: " if code else "No objects found: ")
    assert ended.err.count("\n") == 1


def test_an_unreachable_server_has_an_exit_code_of_its_own(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "nowhere").write_text(NOWHERE)
    ended = cli("get", "ns", "--kubeconfig", tmp_path / "nowhere")
    assert ended.code == 3
    assert ended.err.startswith("error: cannot reach http://127.0.0.1:1: ")
    assert "homeostat up" in ended.err


def test_a_missing_kubeconfig_says_how_to_get_one(cli: Cli) -> None:
    ended = cli.here("get", "ns")
    assert ended.code == 1
    assert "homeostat up" in ended.err
    assert "--kubeconfig or KUBECONFIG" in ended.err
    ended = cli.here("get", "ns", "--kubeconfig", "/no/such/file")
    assert "/no/such/file, which does not exist; start the plane that writes it (homeostat up)" in ended.err
    ended = cli.here("kubeconfig")
    assert ended.code == 1
    assert "homeostat up" in ended.err


@pytest.mark.parametrize("command", ["", *main.list_commands(click.Context(main))])
def test_every_command_has_help_with_an_example(cli: Cli, command: str) -> None:
    ended = cli.here(*([command] if command else []), "--help")
    assert ended.code == 0
    assert "Example" in ended.out
    assert f"homeostat {command}".strip() in ended.out.partition("Example")[2]

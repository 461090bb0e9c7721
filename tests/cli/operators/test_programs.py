"""Programs run on this machine only if whoever starts the plane says so, and settings that are wrong stop the start."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from tests.cli.running import Cli, running

TYPE = """
apiVersion: homeostat.dev/v1alpha1
kind: ResourceType
metadata: {name: greeting}
spec:
  name: Greeting
  schema: {type: object}
  action: {plugin: command, config: {apply: [/bin/echo, '{"outputs": {"said": "hello"}}']}}
"""
GREETING = """
apiVersion: resources.homeostat.dev/v1
kind: Greeting
metadata: {name: world}
spec: {}
"""


def until(holds: Callable[[], bool], *, within_s: float = 30.0) -> None:
    """The kinds come soon after the start, and resources are seen to soon after they are declared."""
    deadline = time.monotonic() + within_s
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.1)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        pytest.param((), ["failed", "PluginOff", "--allow-programs"], id="off"),
        pytest.param(("--allow-programs",), ["ready", "hello"], id="on"),
    ],
)
def test_a_program_runs_where_it_is_allowed(cli: Cli, options: tuple[str, ...], told: list[str]) -> None:
    with running(cli, *options) as up:
        until(lambda: up.cli("apply", "-f", "-", stdin=TYPE).code == 0)
        until(lambda: up.cli("apply", "-f", "-", stdin=GREETING).code == 0)
        until(lambda: all(each in up.cli("get", "greetings", "world", "-o", "json").out for each in told))


@pytest.mark.parametrize("command", [("up", "--open"), ("run", "--rest", "0", "--rest-open")], ids=["up", "run"])
def test_who_asks_for_no_credentials_runs_no_programs(cli: Cli, command: tuple[str, ...]) -> None:
    ended = cli.here(*command, "--allow-programs")
    assert ended.code == 2
    assert "each of them could run programs as you" in ended.err
    switched = Cli({**cli.environment, "HOMEOSTAT_ALLOW_PROGRAMS": "1"}).here(*command)
    assert switched.code == 2


@pytest.mark.parametrize("command", [("up", "--port", "0"), ("run", "--operators", "actions")], ids=["up", "run"])
def test_settings_that_make_no_sense_are_reported_and_nothing_starts(cli: Cli, command: tuple[str, ...]) -> None:
    ended = Cli({**cli.environment, "PLUGIN_CONFIGS": "{"}).here(*command)
    assert ended.code != 0
    assert "environment variable PLUGIN_CONFIGS must be a JSON object" in ended.err

"""`homeostat resource logs`: what programs print can be read while they run."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from homeostat.objects.json import JsonObject
from tests.cli.running import Cli, make_cli, running
from tests.cli.shelf import text_of

SECRET = "open-sesame-42"
PROGRAM = """
echo begun with $TOKEN >&2
while [ ! -e {gate} ]; do sleep 0.05; done
rm {gate}
echo ended >&2
exit $(cat {code})
"""


class Kiln:
    """A program that runs until it is let go."""

    def __init__(self, directory: Path) -> None:
        self.gate, self.code, self.path = directory / "gate", directory / "code", directory / "kiln.sh"
        self.path.write_text(PROGRAM.format(gate=self.gate, code=self.code))
        self.ends_with(0)

    def ends_with(self, code: int) -> None:
        self.code.write_text(str(code))

    def let_go(self) -> None:
        self.gate.touch()


@pytest.fixture(scope="module")
def kiln(tmp_path_factory: pytest.TempPathFactory) -> Kiln:
    return Kiln(tmp_path_factory.mktemp("kiln"))


@pytest.fixture(scope="module")
def pots(tmp_path_factory: pytest.TempPathFactory, bytecode: Path, kiln: Kiln) -> Iterator[Cli]:
    own = make_cli(tmp_path_factory.mktemp("logs") / "data", bytecode)
    cli = Cli({**own.environment, "HOMEOSTAT_SECRET_TOKEN": SECRET})
    with running(cli, "--operators", "housekeeping,actions", "--allow-programs") as up:
        added = up.cli.here("type", "add", "-f", "-", stdin=text_of(pot_type(kiln)))
        assert added.code == 0, added.err
        yield up.cli


def pot_type(kiln: Kiln) -> JsonObject:
    config = {"apply": ["sh", str(kiln.path)], "environment": {"TOKEN": {"store": "env", "key": "TOKEN"}}}
    spec = {"name": "Pot", "schema": {"type": "object"}, "action": {"plugin": "command", "config": config}}
    metadata = {"name": "pot-v1"}
    return {"apiVersion": "homeostat.dev/v1alpha1", "kind": "ResourceType", "metadata": metadata, "spec": spec}


def make(cli: Cli, name: str) -> None:
    pot = {"apiVersion": "resources.homeostat.dev/v1", "kind": "Pot", "metadata": {"name": name}, "spec": {}}
    assert cli.here("resource", "apply", "-f", "-", stdin=text_of(pot)).code == 0


def until(asked: Callable[[], str], told: str) -> str:
    deadline = time.monotonic() + 20
    while told not in (found := asked()):
        assert time.monotonic() < deadline, found
        time.sleep(0.1)
    return found


def test_what_a_run_prints_is_read_while_it_runs_and_afterwards(pots: Cli, kiln: Kiln) -> None:
    make(pots, "one")
    silent = pots.here("resource", "logs", "pot/one")
    assert (silent.out, silent.code) == ("", 0)
    assert until(lambda: pots.here("resource", "logs", "pot/one").out, "begun") == "begun with ***\n"
    following = pots.start("resource", "logs", "pot/one", "-f")
    assert following.stdout is not None
    assert following.stdout.readline() == "begun with ***\n"
    kiln.let_go()
    rest, err = following.communicate(timeout=20)
    assert (rest, err, following.returncode) == ("ended\n", "", 0)
    assert pots.here("resource", "logs", "pot/one").out == "begun with ***\nended\n"


def test_a_run_that_failed_has_all_that_it_printed(pots: Cli, kiln: Kiln) -> None:
    kiln.ends_with(3)
    make(pots, "two")
    until(lambda: pots.here("resource", "logs", "pot/two").out, "begun")
    kiln.let_go()
    until(lambda: pots.here("resource", "logs", "pot/two").out, "begun with ***\nended\n")
    kiln.ends_with(0)


def test_of_a_run_that_was_quick_the_record_tells(pots: Cli, kiln: Kiln) -> None:
    kiln.let_go()
    make(pots, "three")
    told = until(lambda: pots.here("resource", "logs", "pot/three").out, "ended")
    assert told == "begun with ***\nended\n"
    assert pots.here("get", "runoutputs", "-o", "name").out.count("three") == 0


def test_what_was_printed_goes_with_the_resource(pots: Cli, kiln: Kiln) -> None:
    make(pots, "four")
    until(lambda: pots.here("resource", "logs", "pot/four").out, "begun")
    kiln.let_go()
    until(lambda: pots.here("resource", "show", "pot/four").out, "ready")
    assert pots.here("resource", "delete", "pot/four", "--wait").code == 0
    deadline = time.monotonic() + 20
    while "four" in pots.here("get", "runoutputs", "-o", "name").out:
        assert time.monotonic() < deadline
        time.sleep(0.1)

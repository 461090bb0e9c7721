"""`homeostat resource logs`: what programs print can be read while they run."""

from __future__ import annotations

import json
import re
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
PLAN = """
case "$(cat)" in *broken*) echo plan failed loudly with $TOKEN >&2; exit 1;; esac
[ -e made ] && echo '{"changed": false}' || echo '{"changed": true, "message": "to be made"}'
"""


class Kiln:
    """A program that runs until it is let go."""

    def __init__(self, directory: Path) -> None:
        self.gate, self.code, self.path = directory / "gate", directory / "code", directory / "kiln.sh"
        self.path.write_text(PROGRAM.format(gate=self.gate, code=self.code))
        self.plan = directory / "plan.sh"
        self.plan.write_text(PLAN)
        self.ends_with(0)

    def ends_with(self, code: int) -> None:
        self.code.write_text(str(code))

    def release(self) -> None:
        self.gate.touch()


@pytest.fixture(scope="module")
def kiln(tmp_path_factory: pytest.TempPathFactory) -> Kiln:
    return Kiln(tmp_path_factory.mktemp("kiln"))


@pytest.fixture(scope="module")
def pots(tmp_path_factory: pytest.TempPathFactory, kiln: Kiln) -> Iterator[Cli]:
    own = make_cli(tmp_path_factory.mktemp("logs") / "data")
    cli = Cli({**own.environment, "HOMEOSTAT_SECRET_TOKEN": SECRET})
    with running(cli, "--operators", "housekeeping,actions", "--allow-programs") as up:
        for each in (pot_type(kiln), vase_type(kiln)):
            added = up.cli.here("type", "add", "-f", "-", stdin=text_of(each))
            assert added.code == 0, added.err
        yield up.cli


def pot_type(kiln: Kiln) -> JsonObject:
    return type_of("Pot", {"apply": ["sh", str(kiln.path)]})


def vase_type(kiln: Kiln) -> JsonObject:
    """With a plan, which fails where the spec says so."""
    apply = ["sh", "-c", 'sh "$0" && touch made', str(kiln.path)]
    return type_of("Vase", {"plan": ["sh", str(kiln.plan)], "apply": apply})


def type_of(name: str, programs: JsonObject) -> JsonObject:
    config = {**programs, "environment": {"TOKEN": {"store": "env", "key": "TOKEN"}}}
    spec = {"name": name, "schema": {"type": "object"}, "action": {"plugin": "command", "config": config}}
    metadata = {"name": f"{name.lower()}-v1"}
    return {"apiVersion": "homeostat.dev/v1alpha1", "kind": "ResourceType", "metadata": metadata, "spec": spec}


def make(cli: Cli, name: str, kind: str = "Pot", **spec: str) -> None:
    pot = {"apiVersion": "resources.homeostat.dev/v1", "kind": kind, "metadata": {"name": name}, "spec": spec}
    assert cli.here("resource", "apply", "-f", "-", stdin=text_of(pot)).code == 0


def fired(cli: Cli, kiln: Kiln, name: str) -> None:
    """A vase whose making took long enough for its output to be kept."""
    make(cli, name, "Vase", text="fine")
    until(lambda: cli.here("resource", "logs", f"vase/{name}").out, "begun")
    kiln.release()
    until(lambda: cli.here("resource", "show", f"vase/{name}").out, "ready")


def told(cli: Cli, title: str) -> JsonObject:
    found: JsonObject = json.loads(cli.here("resource", "logs", title, "-o", "json").out)
    return found


def until(asked: Callable[[], str], told: str) -> str:
    deadline = time.monotonic() + 30
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
    kiln.release()
    rest, err = following.communicate(timeout=30)
    heading, ending = err.splitlines()
    assert (rest, following.returncode) == ("ended\n", 0)
    assert re.fullmatch(r"pot/one: apply of generation 1 \(initial\), started \S+Z, under way", heading)
    assert re.fullmatch(r"pot/one: succeeded at \S+Z", ending)
    assert pots.here("resource", "logs", "pot/one").out == "begun with ***\nended\n"


def test_a_run_that_failed_has_all_that_it_printed(pots: Cli, kiln: Kiln) -> None:
    kiln.ends_with(3)
    make(pots, "two")
    until(lambda: pots.here("resource", "logs", "pot/two").out, "begun")
    kiln.release()
    until(lambda: pots.here("resource", "logs", "pot/two").out, "begun with ***\nended\n")
    (heading,) = until(lambda: pots.here("resource", "logs", "pot/two").err, "failed at").splitlines()
    assert heading.startswith("pot/two: apply of generation 1 (initial), started ")
    kiln.ends_with(0)


def test_a_run_is_cancelled(pots: Cli, kiln: Kiln) -> None:
    make(pots, "nine")
    until(lambda: pots.here("resource", "logs", "pot/nine").out, "begun")
    done = pots.here("resource", "cancel", "pot/nine")
    assert (done.code, done.out) == (0, "pot/nine cancellation requested\n"), done.err
    until(lambda: pots.here("resource", "show", "pot/nine").out, "Cancelled: somebody cancelled the run")
    again = pots.here("resource", "cancel", "pot/nine")
    assert (again.code, "pot/nine has no run to cancel" in again.err) == (1, True)
    (entry,) = json.loads(pots.here("resource", "history", "pot/nine", "-o", "json").out)["items"]
    assert entry["spec"]["phase"] == "cancelled"


def test_a_plan_that_failed_is_shown_and_not_the_run_before_it(pots: Cli, kiln: Kiln) -> None:
    fired(pots, kiln, "five")
    assert pots.here("resource", "logs", "vase/five").out == "begun with ***\nended\n"
    make(pots, "five", "Vase", text="broken")
    until(lambda: pots.here("resource", "show", "vase/five").out, "failed")
    shown = pots.here("resource", "logs", "vase/five")
    assert shown.out == "plan failed loudly with ***\n"
    heading, error = shown.err.splitlines()
    assert re.fullmatch(r"vase/five: plan of generation 2 \(\w+\), started \S+Z, failed at \S+Z", heading)
    assert error == "vase/five: ProgramFailed: exit code 1: plan failed loudly with ***"
    found = told(pots, "vase/five")
    assert (found["purpose"], found["state"], found["generation"]) == ("plan", "failed", 2)
    assert (found["text"], found["started"] < found["ended"]) == (shown.out, True)


def test_a_run_that_printed_nothing_stands_for_itself(pots: Cli, kiln: Kiln) -> None:
    fired(pots, kiln, "six")
    assert told(pots, "vase/six")["purpose"] == "apply"
    assert pots.here("resource", "reconcile", "vase/six", "--wait").code == 0
    until(lambda: pots.here("resource", "logs", "vase/six").err, "plan of generation 1 (manual)")
    silent = pots.here("resource", "logs", "vase/six")
    assert (silent.out, silent.err.splitlines()[1]) == ("", "vase/six: nothing was printed")


def test_one_object_is_not_followed(pots: Cli) -> None:
    refused = pots.here("resource", "logs", "vase/six", "-f", "-o", "json")
    assert (refused.code, "pass -f or -o, not both" in refused.err) == (2, True)


def test_a_run_that_was_quick_is_shown_from_its_record(pots: Cli, kiln: Kiln) -> None:
    kiln.release()
    make(pots, "three")
    shown = until(lambda: pots.here("resource", "logs", "pot/three").out, "ended")
    assert shown == "begun with ***\nended\n"
    assert pots.here("get", "runoutputs", "-o", "name").out.count("three") == 0


def test_what_was_printed_goes_with_the_resource(pots: Cli, kiln: Kiln) -> None:
    make(pots, "four")
    until(lambda: pots.here("resource", "logs", "pot/four").out, "begun")
    kiln.release()
    until(lambda: pots.here("resource", "show", "pot/four").out, "ready")
    assert pots.here("resource", "delete", "pot/four", "--wait").code == 0
    deadline = time.monotonic() + 30
    while "four" in pots.here("get", "runoutputs", "-o", "name").out:
        assert time.monotonic() < deadline
        time.sleep(0.1)

"""`homeostat resource`: resources applied, followed, listed, shown and deleted, on a plane with the operator."""

from __future__ import annotations

import os
import pty
import select
import signal
import subprocess
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import pytest

from homeostat.cli.resource import COMMANDS
from homeostat.cli.resourcehistory import seconds_text
from homeostat.cli.resourcestate import Goal, end_of, standing_of
from homeostat.cli.resourcewatch import row_of, table_of
from tests.cli.running import HOMEOSTAT, Cli, Ended, Up, make_cli
from tests.cli.shelf import Shelf, actions_plane, crate, crate_type, serving_shelf, text_of


@pytest.fixture(scope="module")
def plane(tmp_path_factory: pytest.TempPathFactory, bytecode: Path) -> Iterator[Up]:
    with actions_plane(make_cli(tmp_path_factory.mktemp("resources") / "data", bytecode)) as up:
        yield up


@pytest.fixture(scope="module")
def whole_shelf() -> Iterator[Shelf]:
    with serving_shelf() as found:
        yield found


@pytest.fixture(scope="module")
def typed(plane: Up, whole_shelf: Shelf) -> Cli:
    done = plane.cli.here("type", "add", "-f", "-", stdin=text_of(crate_type(whole_shelf)))
    assert done.code == 0, done.err
    return plane.cli


@pytest.fixture
def shelf(whole_shelf: Shelf, typed: Cli) -> Iterator[Shelf]:
    """Willing and quick again after each test, and empty."""
    yield whole_shelf
    whole_shelf.refuses, whole_shelf.slow_s = 0, 0.0
    for name in typed.here("resource", "list", "-o", "name").out.split():
        typed.here("resource", "delete", "--no-wait", name)
        typed.here("resource", "reconcile", name)
    assert typed.here("resource", "list", "-o", "name").out == ""


def applied(cli: Cli, *objects: Any, options: tuple[str, ...] = ("--wait",)) -> Ended:
    return cli.here("resource", "apply", "-f", "-", *options, stdin=text_of(*objects))


def test_a_user_applies_looks_and_deletes(typed: Cli, shelf: Shelf, tmp_path: Path) -> None:
    path = tmp_path / "one.json"
    path.write_bytes(msgspec.json.encode(crate("one", size=3)))
    done = typed("resource", "apply", "-f", path, "--wait")
    assert (done.code, done.out.splitlines()) == (0, ["crate/one created", "crate/one is ready"])
    assert "crate/one reconciling: the run to apply is under way" in done.err
    assert shelf.items["one"] == {"name": "one", "size": 3, "label": "plain"}
    assert typed("resource", "outputs", "crate/one", "--key", "size").out == "3\n"
    gone = typed("resource", "delete", "crate/one", "--wait")
    assert (gone.code, gone.out.splitlines()) == (0, ["crate/one deleted", "crate/one is gone"])
    assert shelf.items == {}


def test_a_change_is_waited_for_and_what_is_as_declared_is_ready_at_once(typed: Cli, shelf: Shelf) -> None:
    assert applied(typed, crate("one")).code == 0
    changed = applied(typed, crate("one", size=9))
    assert changed.out.splitlines() == ["crate/one configured", "crate/one is ready"]
    assert shelf.items["one"]["size"] == 9
    again = applied(typed, crate("one", size=9))
    assert again.out.splitlines() == ["crate/one unchanged", "crate/one is ready"]


def test_a_declaration_that_says_the_same_in_other_words_is_ready(typed: Cli, shelf: Shelf) -> None:
    assert applied(typed, crate("one")).code == 0
    done = applied(typed, {**crate("one"), "action": {"plugin": "http"}}, options=("--wait", "--timeout", "10"))
    assert done.out.splitlines() == ["crate/one configured", "crate/one is ready"]
    assert shelf.writes


def test_nothing_is_waited_for_where_nobody_looks(typed: Cli, shelf: Shelf) -> None:
    shelf.slow_s = 0.5
    assert applied(typed, crate("one"), options=()).out == "crate/one created\n"


def test_a_body_of_the_rest_api_and_a_type_beside_it_are_applied(typed: Cli, shelf: Shelf) -> None:
    body = {
        "name": "round",
        "resource_type_name": "wine-barrel",
        "resource_type_version": "v1",
        "spec": {"size": 2},
        "metadata": {"owner": "cellar"},
    }
    kind = crate_type(shelf, name="wine-barrel", shortNames=[])
    kind["metadata"]["name"] = "winebarrel"
    done = applied(typed, body, kind)
    assert done.code == 0, done.err
    assert done.out.splitlines()[-1] == "winebarrel/round is ready"
    shown = typed.here("resource", "show", "wine-barrel", "round", "-o", "json").json
    assert shown["metadata"]["annotations"]["homeostat.dev/metadata"] == '{"owner":"cellar"}'
    assert typed.here("resource", "delete", "winebarrel/round", "--wait").code == 0
    assert typed.here("type", "delete", "wine-barrel").code == 0


def test_a_failure_ends_the_wait_with_what_was_told(typed: Cli, shelf: Shelf) -> None:
    shelf.refuses = 500
    done = applied(typed, crate("one"), crate("two"))
    assert done.code == 1
    assert "error: crate/one failed: Refused: GET: HTTP 500" in done.err
    assert "the shelf is locked" in done.err
    assert "; tried again in " in done.err
    failed = typed.here("resource", "list", "--phase", "failed", "-o", "name").out.split()
    assert failed == ["crate/one", "crate/two"]
    assert typed.here("resource", "list", "--phase", "ready").err == "No resources found in namespace default.\n"


def test_a_wait_ends_in_time_and_says_how_things_stand(typed: Cli, shelf: Shelf) -> None:
    shelf.slow_s = 2.0
    done = applied(typed, crate("one"), options=("--wait", "--timeout", "1"))
    assert done.code == 1
    assert "crate/one is not ready after 1 s; reconciling: the run to apply is under way" in done.err


def test_a_paused_resource_is_not_waited_for(typed: Cli, shelf: Shelf) -> None:
    paused = crate("one")
    paused["metadata"]["annotations"] = {"homeostat.dev/paused": "true"}
    done = applied(typed, paused)
    assert (done.code, "is paused by its annotation homeostat.dev/paused" in done.err) == (1, True)
    assert typed.here("resource", "list", "crate/one").rows[1][4] == "paused"
    assert "Next run:     paused" in typed.here("resource", "show", "crate/one").out
    assert applied(typed, crate("one")).code == 0


@pytest.mark.parametrize(
    ("obj", "told"),
    [
        (crate("one", size=0), "spec.size"),
        (crate("one", size="large"), "spec.size"),
        (
            {**crate("one"), "kind": "Unknown"},
            "no kind Unknown in resources.homeostat.dev/v1; add its type (homeostat type add) first",
        ),
        ({**crate("one"), "colour": "red"}, "colour"),
        (
            {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}},
            "neither a resource nor a resource type",
        ),
    ],
    ids=["range", "type", "kind", "unknown field", "other"],
)
def test_what_does_not_fit_is_refused(typed: Cli, shelf: Shelf, obj: Any, told: str) -> None:
    done = applied(typed, obj)
    assert done.code == 1
    assert told in done.err
    assert shelf.items == {}


def test_a_dry_run_stores_nothing(typed: Cli, shelf: Shelf) -> None:
    assert applied(typed, crate("one"), options=("--dry-run", "--wait")).out == "crate/one created (dry run)\n"
    assert typed.here("resource", "list", "-o", "name").out == ""


@pytest.mark.parametrize("words", [("crate/one",), ("crate", "one"), ("Crate", "one"), ("cr", "one"), ("crates/one",)])
def test_a_resource_is_named_in_each_of_the_forms(typed: Cli, shelf: Shelf, words: tuple[str, ...]) -> None:
    applied(typed, crate("one"))
    for command in ("show", "outputs"):
        assert typed.here("resource", command, *words).code == 0
    assert typed.here("resource", "history", *words).rows[1][:2] == ["Crate", "one"]
    assert typed.here("resource", "list", *words, "-o", "name").out == "crate/one\n"


def test_resources_of_other_namespaces_are_applied_and_listed(typed: Cli, shelf: Shelf) -> None:
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "depot"}}
    assert typed.here("apply", "-f", "-", stdin=text_of(namespace)).code == 0
    assert applied(typed, crate("far"), options=("--wait", "-n", "depot")).code == 0
    assert typed.here("resource", "list").err == "No resources found in namespace default.\n"
    rows = typed.here("resource", "list", "-A").rows
    assert (rows[0][0], rows[1][:3]) == ("NAMESPACE", ["depot", "Crate", "far"])
    assert typed.here("resource", "delete", "crate/far", "-n", "depot", "--wait").code == 0


def test_who_may_see_some_types_is_told_of_the_others(typed: Cli, plane: Up, shelf: Shelf, tmp_path: Path) -> None:
    path = tmp_path / "guest.kubeconfig"
    path.write_text(typed("token", "create", "guest", "-o", "kubeconfig", "--data", plane.data).out)
    path.chmod(0o600)
    done = typed.here("resource", "list", "--kubeconfig", path)
    assert done.code == 0
    assert 'warning: crates.resources.homeostat.dev is forbidden: User "guest" cannot list' in done.err
    assert typed.here("resource", "list", "Crate", "--kubeconfig", path).code == 1


def test_a_page_shows_declaration_state_outputs_and_the_next_run(typed: Cli, shelf: Shelf) -> None:
    applied(typed, crate("one"))
    page = typed.here("resource", "show", "crate/one")
    rows = page.rows
    for row in (["Phase:", "ready"], ["size:", "1"], ["label:", "plain"], ["where:", "one"]):
        assert row in rows
    assert "Next run:     in 4m" in page.out or "Next run:     in 5m" in page.out
    assert any(row[:3] == ["Ready", "True", "ReconcileSuccess"] for row in rows)
    assert typed.here("resource", "show", "crate/one", "-o", "yaml").out.startswith(
        "apiVersion: resources.homeostat.dev"
    )


def test_a_run_under_way_is_shown(typed: Cli, shelf: Shelf) -> None:
    shelf.slow_s = 1.5
    applied(typed, crate("one"), options=())
    deadline = time.monotonic() + 10
    while "Run:" not in (page := typed.here("resource", "show", "crate/one").out):
        assert time.monotonic() < deadline
    for told in (
        "To:           apply",
        "Because:      initial",
        "Changes:      +1 ~0 -0",
        "Next run:     after the run",
    ):
        assert told in page


def test_a_resource_is_looked_at_when_somebody_asks(typed: Cli, shelf: Shelf) -> None:
    applied(typed, crate("one"))
    shelf.items["one"]["size"] = 77
    done = typed.here("resource", "reconcile", "crate/one")
    assert (done.code, done.out.splitlines()) == (0, ["crate/one is to be looked at", "crate/one is ready"])
    assert shelf.items["one"]["size"] == 1
    shelf.refuses = 503
    failed = typed.here("resource", "reconcile", "crate", "one")
    assert (failed.code, "crate/one failed: Refused" in failed.err) == (1, True)


def test_what_cannot_be_destroyed_stays_and_is_tried_again_when_asked(typed: Cli, shelf: Shelf) -> None:
    applied(typed, crate("one"))
    shelf.refuses = 500
    done = typed.here("resource", "delete", "crate/one", "--wait")
    assert (done.code, "crate/one is not destroyed: Refused" in done.err) == (1, True)
    shelf.refuses = 0
    again = typed.here("resource", "reconcile", "crate/one")
    assert (again.code, again.out.splitlines()[-1]) == (0, "crate/one is gone")
    assert "one" not in shelf.items


@pytest.mark.parametrize(("verb", "word"), [("reconcile", "ready"), ("delete", "gone")])
def test_one_that_is_not_there_does_not_stop_the_others(typed: Cli, shelf: Shelf, verb: str, word: str) -> None:
    applied(typed, crate("one"), crate("two"))
    done = typed.here("resource", verb, "crate/one", "crate/none", "crate/two", "--wait")
    assert (done.code, '"none" not found' in done.err) == (1, True)
    assert done.out.splitlines()[-2:] == [f"crate/one is {word}", f"crate/two is {word}"]


@pytest.mark.parametrize(
    ("seconds", "told"), [(0.00066, "0.001"), (0.02, "0.020"), (0.25, "0.2"), (4.24, "4.2"), (127, "127")]
)
def test_the_time_that_a_run_took_is_told_as_finely_as_it_matters(seconds: float, told: str) -> None:
    assert seconds_text(seconds) == told


def test_history_is_kept_of_what_is_gone(typed: Cli, shelf: Shelf) -> None:
    applied(typed, crate("past"))
    applied(typed, crate("past", size=2))
    typed.here("resource", "delete", "crate/past", "--wait")
    applied(typed, crate("present"))
    rows = typed.here("resource", "history", "crate/past").rows
    assert rows[0] == ["TYPE", "NAME", "AGE", "TRIGGER", "GENERATION", "RESULT", "CHANGES", "DRIFT", "SECONDS", "ERROR"]
    assert [(row[3], row[5]) for row in rows[1:]] == [
        ("deletion", "success"),
        ("spec_change", "success"),
        ("initial", "success"),
    ]
    gone = {
        each["spec"]["resourceName"] for each in typed.here("resource", "history", "--gone", "-o", "json").json["items"]
    }
    assert "past" in gone
    assert "present" not in gone
    assert len(typed.here("resource", "history", "crate", "past", "--limit", "1").rows) == 2
    assert typed.here("resource", "history", "Nothing").err == "No reconciliations found.\n"
    wide = typed.here("resource", "history", "past-type/none", "-A", "-o", "wide")
    assert (wide.code, wide.err) == (0, "No reconciliations found.\n")


def test_failures_can_be_singled_out(typed: Cli, shelf: Shelf) -> None:
    shelf.refuses = 500
    applied(typed, crate("bad"))
    rows = typed.here("resource", "history", "crate/bad", "--failed", "-A").rows
    assert rows[1][0] == "default"
    assert rows[1][4:8] == ["initial", "1", "failed", "+0"]


def test_outputs_are_told_and_missing_ones_too(typed: Cli, shelf: Shelf) -> None:
    applied(typed, crate("one"))
    assert typed.here("resource", "outputs", "crate/one", "-o", "json").json == {"size": 1, "where": "one"}
    assert typed.here("resource", "outputs", "crate/one").rows[1:] == [["size", "1"], ["where", "one"]]
    done = typed.here("resource", "outputs", "crate/one", "--key", "colour")
    assert (done.code, done.err) == (1, 'error: crate/one has no output "colour"; it has: size, where\n')


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        (("show", "crate/none"), 1, 'crates.resources.homeostat.dev "none" not found'),
        (("show", "crate"), 2, "the NAME of an object is missing"),
        (("show", "zebra/one"), 1, 'there is no resource type "zebra"; there are: Crate'),
        (("delete", "crate/none"), 1, "not found"),
        (("reconcile", "crate/none"), 1, "not found"),
        (("history", "a/b/c"), 2, "name one resource"),
        (("outputs", "crate", "a", "b"), 2, "name one resource"),
        (("show", "configmap/kube-root-ca.crt"), 1, 'there is no resource type "configmap"'),
    ],
)
def test_what_is_not_there_is_told(typed: Cli, words: tuple[str, ...], code: int, told: str) -> None:
    done = typed.here("resource", *words)
    assert done.code == code
    assert told in done.err


def test_resources_are_followed_row_by_row(typed: Cli, shelf: Shelf) -> None:
    applied(typed, crate("one"))
    process = typed.start("resource", "watch", "Crate", "-A")
    try:
        assert process.stdout is not None
        heading, first = process.stdout.readline().split(), process.stdout.readline().split()
        assert heading == ["EVENT", "NAMESPACE", "TYPE", "NAME", "PHASE", "FOR", "MESSAGE", "RUN"]
        assert first[:5] == ["ADDED", "default", "Crate", "one", "ready"]
        typed.here("resource", "delete", "crate/one")
        events = [process.stdout.readline().split() for _ in range(3)]
        assert "deleting" in {row[4] for row in events}
    finally:
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=10)
    assert process.returncode == 130


def test_a_wait_outlives_its_server(cli: Cli, tmp_path: Path) -> None:
    with serving_shelf() as shelf:
        with actions_plane(cli) as up:
            port = str(up.port)
            assert cli.here("type", "add", "-f", "-", stdin=text_of(crate_type(shelf))).code == 0
            assert applied(cli, crate("one")).code == 0
            shelf.items["one"]["size"], shelf.slow_s = 7, 2.0
            waiting = cli.start("resource", "reconcile", "crate/one", "--timeout", "25")
            assert waiting.stdout is not None
            assert waiting.stdout.readline() == "crate/one is to be looked at\n"
            up.end()
        shelf.slow_s = 0.0
        with actions_plane(cli, "--port", port):
            out, err = waiting.communicate(timeout=30)
        assert (waiting.returncode, out, shelf.items["one"]["size"]) == (0, "crate/one is ready\n", 1), err


def on_terminal(cli: Cli, *arguments: str, until: str, within_s: float = 20.0) -> tuple[int, str]:
    """What a person sees; Ctrl-C once they have seen `until`, unless it has ended by itself."""
    master, slave = pty.openpty()
    environment = {**cli.environment, "TERM": "xterm", "COLUMNS": "120", "LINES": "40"}
    process = subprocess.Popen([HOMEOSTAT, *arguments], env=environment, stdin=slave, stdout=slave, stderr=slave)
    os.close(slave)
    seen, deadline = "", time.monotonic() + within_s
    try:
        while until not in seen:
            assert time.monotonic() < deadline, seen
            if select.select([master], [], [], 0.1)[0]:
                seen += os.read(master, 65536).decode(errors="replace")
        process.send_signal(signal.SIGINT)
        return process.wait(10), seen
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()
        os.close(master)


def test_a_person_is_shown_the_run_while_it_is_under_way(typed: Cli, shelf: Shelf, tmp_path: Path) -> None:
    shelf.slow_s = 1.0
    path = tmp_path / "one.json"
    path.write_bytes(msgspec.json.encode(crate("one")))
    _, seen = on_terminal(typed, "resource", "apply", "-f", str(path), until="crate/one is ready")
    assert "crate/one reconciling: the run to apply is under way (" in seen


def test_a_person_sees_a_table_that_lives(typed: Cli, shelf: Shelf) -> None:
    applied(typed, crate("one"), crate("two"))
    code, seen = on_terminal(typed, "resource", "watch", until="two")
    assert code == 130
    assert "PHASE" in seen


def test_a_table_that_lives_is_no_longer_than_the_terminal_and_shows_trouble_first() -> None:
    phases = ["ready"] * 10_000 + ["failed", "reconciling"]
    objects = [
        {"kind": "Crate", "metadata": {"namespace": "default", "name": f"c-{at}"}, "status": {"phase": phase}}
        for at, phase in enumerate(phases)
    ]
    table = table_of(objects, 0.0, most=5)
    assert (table.row_count, table.caption) == (5, "and 9997 more")
    assert [str(each) for each in table.columns[3].cells][:3] == ["failed", "reconciling", "ready"]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("resource show cr", ["crate/one", "crate/two"]),
        ("resource delete crate/t", ["crate/two"]),
        ("resource list zebra", []),
        ("type show C", ["Crate/v1"]),
        ("resource h", ["history"]),
    ],
)
def test_a_shell_completes_types_and_names(typed: Cli, shelf: Shelf, line: str, expected: list[str]) -> None:
    applied(typed, crate("one"), crate("two"))
    words = {"COMP_WORDS": f"homeostat {line}", "COMP_CWORD": str(len(line.split()))}
    asked = Cli({**typed.environment, **words, "_HOMEOSTAT_COMPLETE": "bash_complete"})
    assert [each.partition(",")[2] for each in asked().out.split()] == expected


def test_a_shell_completes_nothing_where_no_server_is(cli: Cli) -> None:
    words = {"COMP_WORDS": "homeostat resource show c", "COMP_CWORD": "3", "_HOMEOSTAT_COMPLETE": "bash_complete"}
    assert Cli({**cli.environment, **words})().out.split() == []


def test_every_command_has_an_example(typed: Cli) -> None:
    for name in COMMANDS:
        assert f"homeostat resource {name}" in typed.here("resource", name, "--help").out


NOW = datetime(2026, 1, 1, 12, 0, tzinfo=UTC)
READY = [{"type": "Ready", "status": "True", "reason": "ReconcileSuccess"}]
FAILED = [{"type": "Ready", "status": "False", "reason": "ReconcileFailed"}]
WAITING = [{"type": "Ready", "status": "False", "reason": "RetryLater"}]
RUN = {
    "ticket": "t",
    "purpose": "apply",
    "trigger": "initial",
    "digest": "d",
    "generation": 2,
    "began": "2026-01-01T11:59:00Z",
    "handle": {"runId": 1, "url": "https://ci.example.com/1"},
}
SETTLED = {"phase": "ready", "observedGeneration": 2, "reconciledGeneration": 2, "conditions": READY}


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        (SETTLED, "ready"),
        ({}, None),
        ({**SETTLED, "observedGeneration": 1}, None),
        ({**SETTLED, "run": RUN}, None),
        ({**SETTLED, "conditions": []}, None),
        ({**SETTLED, "reconciledGeneration": 1, "nextRun": "2026-01-01T12:05:00Z"}, "ready"),
        ({**SETTLED, "reconciledGeneration": 1, "nextRun": "2026-01-01T12:00:00Z"}, None),
        ({**SETTLED, "phase": "failed", "conditions": FAILED}, "failed"),
        ({**SETTLED, "phase": "failed", "conditions": WAITING}, None),
        ({**SETTLED, "phase": "failed", "conditions": FAILED, "observedGeneration": 1}, None),
    ],
    ids=[
        "ready",
        "pending",
        "older generation",
        "a run under way",
        "not looked at again",
        "the same in other words",
        "put off",
        "failed",
        "asked to wait",
        "an older failure",
    ],
)
def test_a_wait_ends_with_this_declaration_and_no_other(status: Any, expected: str | None) -> None:
    assert end_of({"metadata": {}, "status": status}, Goal(2), NOW) == expected


@pytest.mark.parametrize(("handled", "expected"), [("now", "ready"), ("before", None)])
def test_a_request_is_waited_for_until_it_is_answered(handled: str, expected: str | None) -> None:
    obj = {"metadata": {}, "status": {**SETTLED, "handledRequest": handled}}
    assert end_of(obj, Goal(2, "now"), NOW) == expected


def test_a_run_under_way_is_told_with_its_age_and_its_link() -> None:
    status = {"phase": "reconciling", "message": "the run to apply is under way", "run": RUN}
    told = standing_of({"status": status}).text(NOW.timestamp())
    assert told == "reconciling: the run to apply is under way (60s) https://ci.example.com/1"
    obj = {"kind": "Crate", "metadata": {"namespace": "default", "name": "one"}, "status": status}
    assert row_of(obj, NOW.timestamp())[4:] == ("60s", "the run to apply is under way", "https://ci.example.com/1")

"""`homeostat resource apply`: what is declared comes about, and is waited for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.cli.resource.applying import applied
from tests.cli.running import Cli
from tests.cli.shelf import Shelf, crate, crate_type


def test_a_user_applies_reads_and_deletes(typed: Cli, shelf: Shelf, tmp_path: Path) -> None:
    path = tmp_path / "one.json"
    path.write_bytes(msgspec.json.encode(crate("one", size=3)))
    done = typed("resource", "apply", "-f", path, "--wait")
    assert (done.code, done.out.splitlines()) == (0, ["crate/one created", "crate/one is ready"])
    assert "crate/one reconciling: Running: apply" in done.err
    assert shelf.items["one"] == {"name": "one", "size": 3, "label": "plain"}
    assert typed("resource", "outputs", "crate/one", "--key", "size").out == "3\n"
    gone = typed("resource", "delete", "crate/one", "--wait")
    assert (gone.code, gone.out.splitlines()) == (0, ["crate/one marked for deletion", "crate/one is gone"])
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


def test_nothing_is_waited_for_where_nobody_reconciles(typed: Cli, shelf: Shelf) -> None:
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


def test_a_failure_ends_the_wait_with_its_message(typed: Cli, shelf: Shelf) -> None:
    shelf.refuses = 500
    done = applied(typed, crate("one"), crate("two"))
    assert done.code == 1
    assert "error: crate/one failed: Refused: GET: HTTP 500" in done.err
    assert "the shelf is locked" in done.err
    assert "; retrying in " in done.err
    failed = typed.here("resource", "list", "--phase", "failed", "-o", "name").out.split()
    assert failed == ["crate/one", "crate/two"]
    assert typed.here("resource", "list", "--phase", "ready").err == "No resources found in namespace default.\n"


def test_a_wait_ends_in_time_and_reports_the_state(typed: Cli, shelf: Shelf) -> None:
    shelf.slow_s = 2.0
    done = applied(typed, crate("one"), options=("--wait", "--timeout", "1"))
    assert done.code == 1
    assert "crate/one is not ready after 1 s; reconciling: Running: apply" in done.err


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
def test_what_does_not_match_is_refused(typed: Cli, shelf: Shelf, obj: Any, told: str) -> None:
    done = applied(typed, obj)
    assert done.code == 1
    assert told in done.err
    assert shelf.items == {}


def test_a_dry_run_stores_nothing(typed: Cli, shelf: Shelf) -> None:
    assert applied(typed, crate("one"), options=("--dry-run", "--wait")).out == "crate/one created (dry run)\n"
    assert typed.here("resource", "list", "-o", "name").out == ""

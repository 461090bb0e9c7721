"""`homeostat resource reconcile` and `delete`: reconciled on request, destroyed, and waited for."""

from __future__ import annotations

import pytest

from tests.cli.resource.applying import applied
from tests.cli.running import Cli
from tests.cli.shelf import Shelf, actions_plane, crate, crate_type, serving_shelf, text_of


def test_a_resource_is_reconciled_when_somebody_asks(typed: Cli, shelf: Shelf) -> None:
    applied(typed, crate("one"))
    shelf.items["one"]["size"] = 77
    done = typed.here("resource", "reconcile", "crate/one")
    assert (done.code, done.out.splitlines()) == (0, ["crate/one reconciliation triggered", "crate/one is ready"])
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


def test_a_wait_outlives_its_server(cli: Cli) -> None:
    with serving_shelf() as shelf:
        with actions_plane(cli) as up:
            port = str(up.port)
            assert cli.here("type", "add", "-f", "-", stdin=text_of(crate_type(shelf))).code == 0
            assert applied(cli, crate("one")).code == 0
            shelf.items["one"]["size"], shelf.slow_s = 7, 2.0
            waiting = cli.start("resource", "reconcile", "crate/one", "--timeout", "25")
            assert waiting.stdout is not None
            assert waiting.stdout.readline() == "crate/one reconciliation triggered\n"
            up.end()
        shelf.slow_s = 0.0
        with actions_plane(cli, "--port", port):
            out, err = waiting.communicate(timeout=30)
        assert (waiting.returncode, out, shelf.items["one"]["size"]) == (0, "crate/one is ready\n", 1), err

"""`homeostat resource list`, `show` and `outputs`: what there is, and how it stands."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from homeostat.cli.resource import COMMANDS
from tests.cli.resource.applying import applied
from tests.cli.running import Cli, Up
from tests.cli.shelf import Shelf, crate, text_of


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


def test_a_description_shows_no_credential_of_an_action(typed: Cli, shelf: Shelf) -> None:
    action = {"plugin": "github_actions", "config": {"owner": "me", "repo": "x", "github_token": "hunter2"}}
    text = text_of({**crate("held"), "action": action})
    planned = typed.here("plan", "-f", "-", stdin=text)
    assert typed.here("resource", "apply", "-f", "-", stdin=text).code == 0
    shown = typed.here("resource", "show", "crate/held")
    for each in (planned.out, shown.out):
        assert ("github_token: " in each, "(hidden)" in each, "hunter2" in each) == (True, True, False)
    assert typed.here("resource", "delete", "crate/held", "--wait").code == 0


def test_a_list_without_permission_is_an_error(typed: Cli, plane: Up, shelf: Shelf, tmp_path: Path) -> None:
    path = tmp_path / "guest.kubeconfig"
    path.write_text(typed("token", "create", "guest", "-o", "kubeconfig", "--data", plane.data).out)
    path.chmod(0o600)
    done = typed.here("resource", "list", "--kubeconfig", path)
    assert (done.code, done.out) == (1, "")
    assert 'error: crates.resources.homeostat.dev is forbidden: User "guest" cannot list' in done.err
    assert "No resources found" not in done.err
    assert typed.here("resource", "list", "Crate", "--kubeconfig", path).code == 1


LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
SAFE_TYPE = {
    "apiVersion": "homeostat.dev/v1alpha1",
    "kind": "ResourceType",
    "metadata": {"name": "safe"},
    "spec": {
        "name": "Safe",
        "schema": {"type": "object", "properties": {"motto": {"type": "string", "format": "password"}}},
    },
}


def test_passwords_are_not_shown(typed: Cli, plane: Up, shelf: Shelf, tmp_path: Path) -> None:
    safe = {"apiVersion": "resources.homeostat.dev/v1", "kind": "Safe", "metadata": {"name": "one"}}
    assert typed.here("type", "add", "-f", "-", stdin=text_of(SAFE_TYPE)).code == 0
    for motto in ("hunter2-one", "hunter2-two"):
        metadata = {"name": "one", "annotations": {LAST_APPLIED: f'{{"spec": {{"motto": "{motto}"}}}}'}}
        text = text_of({**safe, "metadata": metadata, "spec": {"motto": motto}})
        planned = typed.here("plan", "-f", "-", stdin=text)
        assert "spec.motto" in planned.out
        assert typed.here("resource", "apply", "-f", "-", stdin=text).code == 0
        shown = [
            typed.here(*words).out
            for words in (
                ("resource", "show", "safe/one"),
                ("resource", "show", "safe/one", "-o", "yaml"),
                ("resource", "list", "-o", "json"),
                ("resource", "list", "Safe", "-o", "yaml"),
                ("describe", "safe", "one"),
            )
        ]
        assert all("(hidden)" in each for each in (*shown, planned.out))
        assert "hunter2" not in "".join(
            (*shown, planned.out, typed.here("plan", "-f", "-", "-o", "json", stdin=text).out)
        )
    # Who may not read types has the schema too.
    path = tmp_path / "editor.kubeconfig"
    path.write_text(typed("token", "create", "editor", "-o", "kubeconfig", "--data", plane.data).out)
    path.chmod(0o600)
    assert typed.here("auth", "grant", "get,list", "safes", "--user", "editor").code == 0
    seen = typed.here("resource", "show", "safe/one", "-o", "yaml", "--kubeconfig", path).out
    assert ("(hidden)" in seen, "hunter2" in seen) == (True, False)
    assert typed.here("resource", "delete", "safe/one", "--wait").code == 0
    assert typed.here("type", "delete", "Safe").code == 0


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
    deadline = time.monotonic() + 30
    while "Run:" not in (page := typed.here("resource", "show", "crate/one").out):
        assert time.monotonic() < deadline
    for told in (
        "To:           apply",
        "Because:      initial",
        "Changes:      +1 ~0 -0",
        "Next run:     after the current run",
    ):
        assert told in page


def test_outputs_are_reported_and_missing_ones_too(typed: Cli, shelf: Shelf) -> None:
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
        (("history", "a/b/c"), 2, "expected one resource, as TYPE/NAME"),
        (("outputs", "crate", "a", "b"), 2, "expected one resource, as TYPE/NAME"),
        (("show", "configmap/kube-root-ca.crt"), 1, 'there is no resource type "configmap"'),
    ],
)
def test_what_is_not_there_is_reported(typed: Cli, words: tuple[str, ...], code: int, told: str) -> None:
    done = typed.here("resource", *words)
    assert done.code == code
    assert told in done.err


def test_every_command_has_an_example(typed: Cli) -> None:
    for name in COMMANDS:
        assert f"homeostat resource {name}" in typed.here("resource", name, "--help").out

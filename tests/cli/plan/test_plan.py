"""`homeostat plan`: it shows what would be done, in its order, and does nothing."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import msgspec
import pytest

from homeostat.cli.plan.declared import FieldChange, as_stored, changes_between, schema_of_type
from homeostat.cli.plan.plugins import ask, read_only
from homeostat.cli.plan.types import declared_type, planned_type
from homeostat.cli.type.stored import FoundType
from homeostat.client.base import Client
from homeostat.objects.decision import Wait
from homeostat.objects.errors import ApiError
from homeostat.operators.actions.api import ActionReference, ResourceTypeSpec
from homeostat.operators.actions.dependencies import Dependencies
from homeostat.operators.actions.plugins.catalog import Catalog
from homeostat.operators.actions.plugins.plugin import Job, Plugin
from homeostat.operators.actions.world import Plan
from homeostat.runtime.control.writes import RefusedWriteError
from tests.cli.running import Cli, Ended, Up, make_cli
from tests.cli.shelf import Shelf, actions_plane, crate, crate_type, serving_shelf, text_of
from tests.operators.actions.real_plugin import Nowhere


@pytest.fixture(scope="module")
def shelf() -> Iterator[Shelf]:
    with serving_shelf() as found:
        yield found


@pytest.fixture(scope="module")
def plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Up]:
    with actions_plane(make_cli(tmp_path_factory.mktemp("plan") / "data")) as up:
        yield up


@pytest.fixture(scope="module")
def typed(plane: Up, shelf: Shelf) -> Cli:
    """The command, on a plane with a type and one resource of it."""
    first = planned(plane.cli, crate_type(shelf), crate("early"))
    assert first.out.splitlines()[:2] == ["type Crate/v1: create", "crate/early: create"]
    objects = text_of(crate_type(shelf), crate("there", size=3))
    done = plane.cli.here("resource", "apply", "-f", "-", "--wait", stdin=objects)
    assert done.code == 0, done.err
    return plane.cli


@pytest.fixture
def untouched(typed: Cli, shelf: Shelf) -> Iterator[Cli]:
    """Whatever a test plans, the server and the world are afterwards as they were."""

    def state() -> tuple[Any, int]:
        listed = typed.here("get", "resourcetypes,crates,reconciliations,secrets", "-o", "json").json["items"]
        return {each["metadata"]["uid"]: each["metadata"]["resourceVersion"] for each in listed}, shelf.writes

    before = state()
    yield typed
    assert state() == before


def planned(cli: Cli, *objects: Any, options: tuple[str, ...] = ()) -> Ended:
    return cli.here("plan", "-f", "-", *options, stdin=text_of(*objects))


def command_type(shelf: Shelf, program: str) -> dict[str, Any]:
    """Of the same crates, kept by a program."""
    config = {"apply": ["true"], "plan": [sys.executable, "-c", program]}
    return crate_type(shelf, action={"plugin": "command", "config": config})


def test_a_user_sees_what_would_be_created_with_its_defaults(untouched: Cli, tmp_path: Path) -> None:
    path = tmp_path / "new.json"
    path.write_text(text_of(crate("new", size=2)))
    done = untouched("plan", "-f", path)
    assert (done.code, done.err) == (0, "")
    assert done.out.splitlines() == [
        "crate/new: create",
        '  + spec.label: "plain" (default)',
        "  + spec.size: 2",
        "  http: +1 ~0 -0",
        "    does not exist; will be created",
        "1 to create, 0 to update, 0 unchanged",
    ]


def test_a_change_is_shown_field_by_field_and_as_its_plugin_sees_it(untouched: Cli) -> None:
    assert planned(untouched, crate("there", size=5)).out.splitlines() == [
        "crate/there: update",
        "  ~ spec.size: 3 -> 5",
        "  http: +0 ~1 -0",
        "    size: 3 becomes 5",
        "0 to create, 1 to update, 0 unchanged",
    ]


def test_what_is_as_declared_is_unchanged(untouched: Cli) -> None:
    done = planned(untouched, crate("there", size=3), options=("--detailed-exitcode",))
    assert (done.code, done.out.splitlines()[:2]) == (0, ["crate/there: unchanged", "  http: no changes"])


def test_drift_is_seen_where_the_declaration_is_the_same(untouched: Cli, shelf: Shelf) -> None:
    shelf.items["there"]["size"] = 8
    told = planned(untouched, crate("there", size=3)).out.splitlines()
    done = planned(untouched, crate("there", size=3), options=("--detailed-exitcode", "-o", "json"))
    shelf.items["there"]["size"] = 3
    (entry,) = done.json["planned"]
    assert (done.code, entry["change"], entry["plan"]["output"]) == (4, "unchanged", "size: 8 becomes 3")
    assert told[0] == "crate/there: unchanged, but not as declared"
    assert told[-1] == "0 to create, 0 to update, 1 unchanged, 1 not as declared"


@pytest.mark.parametrize(
    ("obj", "told"),
    [
        (crate("new", size=0), "spec.size: Invalid value: 0"),
        ({**crate("new"), "colour": "red"}, 'unknown field "colour"'),
        ({**crate("new"), "apiVersion": "resources.homeostat.dev/v9"}, "there is no resource type Crate v9"),
        ({**crate("new"), "action": {"config": {"url": 1}}}, "InvalidConfig: action.config"),
        (
            {**crate("new"), "action": {"config": {"headers": {"A": {"key": "TOKEN"}}}}},
            "action.config.headers: resources may not set it",
        ),
    ],
    ids=["range", "unknown field", "version", "config", "secret"],
)
def test_what_would_be_refused_or_fail_ends_with_1(untouched: Cli, obj: Any, told: str) -> None:
    done = planned(untouched, crate("good"), obj)
    assert done.code == 1
    assert told in done.err
    assert "crate/good: create" in done.out


def test_a_plugin_that_cannot_be_asked_ends_with_1(untouched: Cli, shelf: Shelf) -> None:
    shelf.refuses = 500
    done = planned(untouched, crate("there", size=3))
    shelf.refuses = 0
    assert (done.code, "crate/there: Refused: GET: HTTP 500" in done.err) == (1, True)


@pytest.mark.parametrize(
    ("plugin", "told"),
    [
        ("magic", 'magic: unknown: on this machine unknown plugin "magic"; known plugins: github_actions, gitlab_ci'),
        ("", "no plugin: unknown: on this machine neither the resource nor its type sets an action plugin"),
    ],
)
def test_a_plugin_that_this_machine_lacks_is_reported_and_is_no_failure(
    untouched: Cli, shelf: Shelf, plugin: str, told: str
) -> None:
    done = planned(untouched, crate_type(shelf, action={"plugin": plugin}), crate("there", size=3))
    assert (done.code, told in done.out) == (0, True), done.out


def test_a_secret_that_this_machine_lacks_is_reported_and_is_no_failure(untouched: Cli, shelf: Shelf) -> None:
    kind = crate_type(shelf)
    kind["spec"]["action"]["config"]["headers"] = {"Authorization": {"key": "NOT_HERE"}}
    done = planned(untouched, kind, crate("there", size=3), options=("--detailed-exitcode",))
    assert done.code == 4
    assert '  http: unknown: the store "env" has no secret "NOT_HERE"' in done.out.splitlines()


@pytest.mark.parametrize(
    ("options", "told"),
    [((), 'unknown: there is no secret store "vault"'), (("--allow-vault",), "127.0.0.1:1")],
    ids=["not allowed", "allowed"],
)
def test_a_vault_is_asked_only_where_it_is_allowed(
    untouched: Cli, shelf: Shelf, options: tuple[str, ...], told: str
) -> None:
    kind = crate_type(shelf)
    kind["spec"]["action"]["config"]["headers"] = {"Authorization": {"store": "vault", "key": "crates"}}
    vault = {"VAULT_ADDR": "http://127.0.0.1:1", "VAULT_TOKEN": "a-very-secret-token"}
    done = planned(Cli({**untouched.environment, **vault}), kind, crate("there", size=3), options=options)
    assert told in done.out + done.err
    assert "a-very-secret-token" not in done.out + done.err


def test_settings_that_make_no_sense_are_reported(untouched: Cli) -> None:
    done = planned(Cli({**untouched.environment, "PLUGIN_CONFIGS": "["}), crate("there", size=3))
    assert (done.code, "PLUGIN_CONFIGS" in done.err) == (1, True)


def test_programs_are_run_only_where_they_are_allowed(untouched: Cli, shelf: Shelf, tmp_path: Path) -> None:
    ran = tmp_path / "ran"
    answer = 'print(\'{"changed": true, "updated": 2, "message": "two of them"}\')'
    kind = command_type(shelf, f"open({str(ran)!r}, 'w').close(); {answer}")
    done = planned(untouched, kind, crate("there", size=3))
    assert (done.code, "command: unknown" in done.out, "--allow-programs" in done.out) == (0, True, True)
    assert not ran.exists()
    allowed = planned(untouched, kind, crate("there", size=3), options=("--allow-programs",))
    assert "  command: +0 ~2 -0\n    two of them\n" in allowed.out
    assert ran.exists()


class UnsureConfig(msgspec.Struct, frozen=True):
    is_busy: bool = False


class UnsurePlugin:
    name, version, config = "unsure", "1.0.0", UnsureConfig

    async def plan(self, job: Job[UnsureConfig]) -> Plan:
        if job.config.is_busy:
            raise Wait("RetryLater", timedelta(seconds=5), message="come back in 5 s")
        return Plan(None)


@pytest.mark.parametrize(
    ("config", "told"),
    [
        ({}, "only a plan run shows the changes; the operator starts one"),
        ({"is_busy": True}, "RetryLater: come back in 5 s"),
    ],
)
def test_what_cannot_be_determined_now_is_unknown_and_may_change(config: Any, told: str, tmp_path: Path) -> None:
    plugins: Catalog[Plugin[Any]] = Catalog({"unsure": UnsurePlugin()}, {})
    dependencies = Dependencies(client=Client(Nowhere()), plugins=plugins, stores={}, directory=tmp_path)
    spec = ResourceTypeSpec(name="Crate", action=ActionReference("unsure", config))
    answer = asyncio.run(ask(dependencies, spec, crate("one"), "default"))
    assert (answer.plugin, answer.unknown, answer.may_change) == ("unsure", told, True)


def test_a_type_that_changes_is_reported_with_the_resources_that_would_not_match(untouched: Cli, shelf: Shelf) -> None:
    kind = crate_type(shelf, description="Of wood.")
    done = planned(untouched, kind, options=("--detailed-exitcode",))
    assert done.code == 4
    assert done.out.splitlines()[:2] == ["type Crate/v1: update", '  + spec.description: "Of wood."']
    wrong = crate_type(shelf, schema={"type": "object", "properties": {"a": {"type": "nope"}}})
    assert "spec.schema.properties.a.type" in planned(untouched, wrong).err
    kind["spec"]["schema"]["properties"]["size"]["minimum"] = 10
    unfit = planned(untouched, kind)
    assert (unfit.code, "1 live resource would not match the schema, first default/there: spec.size" in unfit.err) == (
        1,
        True,
    )
    kind["spec"]["isForced"] = True
    assert planned(untouched, kind).code == 0


def test_other_objects_are_not_planned(untouched: Cli) -> None:
    done = planned(untouched, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}})
    assert (done.code, "neither a resource nor a resource type" in done.err) == (1, True)


def test_no_write_gets_past_the_client_of_a_plan() -> None:
    async def write() -> None:
        with read_only(Client(Nowhere())) as client:
            with pytest.raises(RefusedWriteError):
                await client.create("/api/v1/namespaces/default/secrets", {})
            with pytest.raises(RefusedWriteError):
                await asyncio.create_task(client.delete("/api/v1/namespaces/default/secrets/a"))

    asyncio.run(write())


SCHEMA = schema_of_type(
    ResourceTypeSpec(
        name="Crate",
        schema={
            "type": "object",
            "properties": {
                "size": {"type": "integer"},
                "tags": {"type": "array", "items": {"type": "string"}},
                "lid": {"type": "object", "properties": {"lock": {"type": "string", "default": "none"}}},
            },
        },
    )
)


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ({"size": 1}, {"size": 1}, []),
        ({"size": 1}, {"size": 2}, [FieldChange("spec.size", 1, 2)]),
        ({"size": 1, "tags": ["a"]}, {"size": 1}, [FieldChange("spec.tags", ["a"])]),
        ({"tags": ["a"]}, {"tags": ["a", "b"]}, [FieldChange("spec.tags", ["a"], ["a", "b"])]),
        ({}, {"lid": {}}, [FieldChange("spec.lid.lock", after="none", is_default=True)]),
        ({"lid": {}}, {"lid": {"lock": "brass"}}, [FieldChange("spec.lid.lock", "none", "brass")]),
    ],
    ids=["same", "changed", "given up", "list", "default", "instead of a default"],
)
def test_fields_change_as_a_server_would_change_them(first: Any, second: Any, expected: list[FieldChange]) -> None:
    now = "2026-01-01T00:00:00Z"
    before = as_stored(None, {**crate("one"), "spec": first}, SCHEMA, now=now)
    manifest = {**crate("one"), "spec": second}
    assert changes_between(before, as_stored(before, manifest, SCHEMA, now=now), manifest) == expected


def test_a_plan_shows_references_to_secrets_and_no_credentials_of_an_action() -> None:
    now = "2026-01-01T00:00:00Z"
    config = {"url": "https://x.example", "headers": {"Authorization": "Bearer hunter2"}, "github_token": "hunter2"}
    reference = {**config, "github_token": {"store": "env", "key": "TOKEN"}}
    first = {**crate("one"), "action": {"plugin": "http", "config": config}}
    second = {**first, "action": {"plugin": "http", "config": reference}}
    created = as_stored(None, first, SCHEMA, now=now)
    updated = changes_between(created, as_stored(created, second, SCHEMA, now=now), second)
    shown = [*changes_between(None, created, first), *updated]
    assert "hunter2" not in str(shown)
    assert FieldChange("action.config.url", after="https://x.example") in shown
    assert FieldChange("action.config.github_token", after="(hidden)") in shown
    assert updated == [FieldChange("action.config.github_token", "(hidden)", {"store": "env", "key": "TOKEN"})]


def test_a_plan_shows_no_credentials_of_a_type() -> None:
    metadata = {"apiVersion": "homeostat.dev/v1alpha1", "kind": "ResourceType", "metadata": {"name": "crate"}}
    config = {"url": "https://x.example", "token": "hunter2"}
    there = {**metadata, "spec": {"name": "Crate", "schema": {}, "action": {"plugin": "http", "config": config}}}
    wanted = {"name": "Crate", "schema": {}, "action": {"plugin": "http", "config": {**config, "token": "hunter3"}}}
    planned = planned_type({**metadata, "spec": wanted}, [FoundType(there, declared_type(there))], [])
    assert planned.fields == (FieldChange("spec.action.config.token", "(hidden)", "(hidden)"),)


def test_a_field_of_another_manager_is_a_conflict_unless_it_is_taken_over() -> None:
    now = "2026-01-01T00:00:00Z"
    theirs = {
        "manager": "somebody",
        "operation": "Apply",
        "apiVersion": "resources.homeostat.dev/v1",
        "fieldsType": "FieldsV1",
        "fieldsV1": {"f:spec": {"f:size": {}}},
    }
    live = {**crate("one"), "metadata": {"name": "one", "managedFields": [theirs]}}
    wanted = crate("one", size=2)
    with pytest.raises(ApiError, match='conflict with "somebody"'):
        as_stored(live, wanted, SCHEMA, now=now)
    assert as_stored(live, wanted, SCHEMA, now=now, force=True)["spec"] == {"size": 2}

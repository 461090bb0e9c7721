"""`homeostat type`: resource types added, listed, shown and deleted, on a plane with the operator."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from homeostat.cli.console.failure import Failure
from homeostat.cli.type import COMMANDS
from homeostat.cli.type.body import adopted
from tests.cli.running import Cli, Up, make_cli, running
from tests.cli.shelf import Shelf, actions_plane, crate, crate_type, serving_shelf, text_of

BODY = {
    "name": "database-cluster",
    "version": "v1",
    "schema": {"type": "object", "properties": {"size": {"type": "integer"}}},
    "description": "A cluster of databases.",
}


@pytest.fixture(scope="module")
def shelf() -> Iterator[Shelf]:
    with serving_shelf() as found:
        yield found


@pytest.fixture(scope="module")
def plane(tmp_path_factory: pytest.TempPathFactory, shelf: Shelf) -> Iterator[Up]:
    with actions_plane(make_cli(tmp_path_factory.mktemp("types") / "data")) as up:
        yield up


@pytest.fixture(scope="module")
def types(plane: Up, shelf: Shelf) -> Cli:
    """The command, on a plane with one type."""
    done = plane.cli("type", "add", "-f", "-", stdin=text_of(crate_type(shelf)))
    assert (done.code, done.err) == (0, "")
    assert done.out.splitlines() == ["resourcetype.homeostat.dev/crate-v1 created", "Crate/v1 is ready: crates"]
    return plane.cli


def test_resources_can_be_made_as_soon_as_a_type_is_added(types: Cli) -> None:
    listed = types.here("get", "crates", "-o", "json")
    assert (listed.code, listed.json["items"]) == (0, [])


def test_a_type_is_listed_as_a_row_an_object_and_a_name(types: Cli) -> None:
    rows = types.here("type", "list").rows
    assert rows[0] == ["NAME", "VERSION", "RESOURCES", "PLUGIN", "READY", "AGE", "MESSAGE"]
    assert ["Crate", "v1", "crates", "http", "True"] in [row[:5] for row in rows]
    listed = types.here("type", "list", "-o", "json").json["items"]
    assert "Crate" in [each["spec"]["name"] for each in listed]
    assert "Crate/v1" in types.here("type", "list", "-o", "name").out.splitlines()


@pytest.mark.parametrize("word", ["Crate", "crate", "crates", "cr", "crate-v1", "Crate/v1", "crates/v1"])
def test_a_type_is_found_by_each_of_its_names(types: Cli, word: str) -> None:
    shown = types.here("type", "show", word, "-o", "json")
    assert (shown.code, shown.json["metadata"]["name"]) == (0, "crate-v1")


def test_a_page_shows_the_fields_the_plugin_and_the_state(types: Cli) -> None:
    page = types.here("type", "show", "Crate")
    assert page.code == 0
    assert ["Plugin:", "http"] in page.rows
    assert ["Ready:", "True:", "Defined:", "Defined", "as", "crates"] in page.rows
    assert ["spec.size", "integer", "yes", "In", "litres.", "(minimum", "1)"] in page.rows
    assert ["spec.label", "string", '"plain"'] in page.rows


def test_a_page_shows_no_credential_of_a_type(types: Cli, shelf: Shelf) -> None:
    config = {"url": shelf.url, "headers": {"Authorization": "Bearer hunter2", "X-Team": "dev"}}
    held = crate_type(shelf, name="Held", shortNames=[], action={"plugin": "http", "config": config})
    held["metadata"] = {"name": "held-v1"}
    assert types.here("type", "add", "-f", "-", stdin=text_of(held)).code == 0
    page = types.here("type", "show", "Held").out
    assert ("Authorization: (hidden)" in page, "X-Team: dev" in page, "hunter2" in page) == (True, True, False)
    assert types.here("type", "delete", "Held").code == 0


def test_a_body_of_the_rest_api_is_taken_and_changed_in_its_place(types: Cli, tmp_path: Path) -> None:
    path = tmp_path / "type.json"
    path.write_bytes(msgspec.json.encode(BODY))
    added = types.here("type", "add", "-f", path)
    assert added.out.splitlines() == [
        "resourcetype.homeostat.dev/databasecluster-v1 created",
        "database-cluster/v1 is ready: databaseclusters",
    ]
    assert "unchanged" in types.here("type", "add", "-f", path).out
    path.write_bytes(msgspec.json.encode({**BODY, "description": "Several databases."}))
    assert "configured" in types.here("type", "add", "-f", path).out
    assert (
        types.here("type", "show", "DatabaseCluster", "-o", "json").json["spec"]["description"] == "Several databases."
    )
    gone = types.here("type", "delete", "database-cluster")
    assert (gone.code, gone.out) == (0, "database-cluster/v1 is gone\n")


def test_a_body_goes_to_the_type_that_has_its_name_already(types: Cli, shelf: Shelf) -> None:
    own = crate_type(shelf, name="Barrel", shortNames=["ba"])
    own["metadata"]["name"] = "my-barrel"
    assert types.here("type", "add", "-f", "-", stdin=text_of(own)).code == 0
    body = {"name": "Barrel", "version": "v1", "schema": own["spec"]["schema"], "description": "Round."}
    added = types.here("type", "add", "-f", "-", "--force-conflicts", stdin=text_of(body))
    assert (added.code, added.out.splitlines()[0]) == (0, "resourcetype.homeostat.dev/my-barrel configured")
    assert types.here("type", "delete", "Barrel").code == 0


def test_an_impossible_schema_is_reported_by_its_path(types: Cli) -> None:
    wrong = {**BODY, "name": "Wrong", "schema": {"type": "object", "properties": {"a": {"type": "nope"}}}}
    done = types.here("type", "add", "-f", "-", stdin=text_of(wrong))
    assert done.code == 1
    assert "schema.properties.a.type" in done.err
    types.here("type", "delete", "Wrong")


def test_a_type_in_use_is_not_deleted_and_its_resources_are_named(types: Cli) -> None:
    applied = types.here("resource", "apply", "-f", "-", "--wait", stdin=text_of(crate("one"), crate("two")))
    assert applied.code == 0, applied.err
    refused = types.here("type", "delete", "Crate")
    assert (refused.code, refused.out) == (1, "")
    assert "Crate/v1 is in use, 2 resources are of it: default/one, default/two" in refused.err
    assert "deletionTimestamp" not in types.here("type", "show", "Crate", "-o", "json").json["metadata"]
    assert types.here("resource", "delete", "crate", "one", "two", "--wait").code == 0


def test_one_version_of_several_is_deleted_while_resources_are_there(types: Cli, shelf: Shelf) -> None:
    older = crate_type(shelf, version="v1beta1")
    older["metadata"]["name"] = "crate-v1beta1"
    assert types.here("type", "add", "-f", "-", stdin=text_of(older)).code == 0
    several = types.here("type", "show", "Crate")
    assert several.code == 1
    assert "name one: Crate/v1, Crate/v1beta1" in several.err
    assert types.here("resource", "apply", "-f", "-", "--wait", stdin=text_of(crate("kept"))).code == 0
    assert types.here("type", "delete", "Crate/v1beta1").out == "Crate/v1beta1 is gone\n"
    assert types.here("resource", "delete", "crate/kept", "--wait").code == 0


def test_a_deletion_that_hangs_says_what_holds_the_type(types: Cli, shelf: Shelf) -> None:
    held = crate_type(shelf, name="Barrel", shortNames=[])
    held["metadata"] = {"name": "barrel-v1", "finalizers": ["example.dev/hold"]}
    assert types.here("type", "add", "-f", "-", stdin=text_of(held)).code == 0
    done = types.here("type", "delete", "Barrel", "--timeout", "1")
    assert (done.code, "Barrel/v1 is being deleted, but still exists after 1 s" in done.err) == (1, True)
    release = {**held, "metadata": {"name": "barrel-v1"}}
    types.here("type", "add", "--no-wait", "-f", "-", stdin=text_of(release))


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("show", "Crat"), 'there is no resource type "Crat"; did you mean "Crate"?'),
        (("show", "Crate/v9"), 'there is no resource type "Crate/v9"'),
        (("delete", "zebra"), 'there is no resource type "zebra"; there are: Crate'),
    ],
)
def test_an_unknown_type_is_reported_with_those_that_exist(types: Cli, words: tuple[str, ...], told: str) -> None:
    done = types.here("type", *words)
    assert done.code == 1
    assert told in done.err


def test_what_is_no_type_is_not_added(types: Cli) -> None:
    done = types.here("type", "add", "-f", "-", stdin=text_of(crate("one")))
    assert done.code == 1
    assert "is not a resource type" in done.err


def test_a_server_without_the_operator_is_reported(cli: Cli) -> None:
    with running(cli, "--operators", "housekeeping"):
        for words in (("type", "list"), ("resource", "history")):
            done = cli.here(*words)
            assert (done.code, "does not serve resource types" in done.err) == (1, True)


def test_every_command_has_an_example(types: Cli) -> None:
    for name in COMMANDS:
        assert f"homeostat type {name}" in types.here("type", name, "--help").out


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (
            {"name": "Disk", "version": "2.1", "schema": {}, "metadata": {"team": "a"}, "status": "deprecated"},
            {
                "apiVersion": "homeostat.dev/v1alpha1",
                "kind": "ResourceType",
                "metadata": {"name": "disk-v2-1", "annotations": {"homeostat.dev/metadata": '{"team":"a"}'}},
                "spec": {"name": "Disk", "version": "2.1", "schema": {}, "isDeprecated": True},
            },
        ),
        (
            {
                "name": "one",
                "resource_type_name": "disk-array",
                "resource_type_version": "v2",
                "action_plugin": "http",
                "plugin_config": {"url": "u"},
                "spec": {"a": 1},
            },
            {
                "apiVersion": "resources.homeostat.dev/v2",
                "kind": "DiskArray",
                "metadata": {"name": "one"},
                "spec": {"a": 1},
                "action": {"plugin": "http", "config": {"url": "u"}},
            },
        ),
        ({"kind": "Pod", "apiVersion": "v1"}, {"kind": "Pod", "apiVersion": "v1"}),
        ({"name": "neither"}, {"name": "neither"}),
        (["a list"], ["a list"]),
        (
            [
                {"id": 7, "name": "Disk", "version": "v1", "schema": {}, "action_plugin": "http", "created_at": "then"},
                {"id": 8, "name": "Tape", "version": "v1", "schema": {}, "deleted_at": "now"},
            ],
            {
                "apiVersion": "v1",
                "kind": "List",
                "items": [
                    {
                        "apiVersion": "homeostat.dev/v1alpha1",
                        "kind": "ResourceType",
                        "metadata": {"name": "disk-v1"},
                        "spec": {"name": "Disk", "version": "v1", "schema": {}, "action": {"plugin": "http"}},
                    }
                ],
            },
        ),
    ],
    ids=["type", "resource", "object", "something", "list", "what the API lists"],
)
def test_bodies_become_objects_and_all_else_stays(body: Any, expected: Any) -> None:
    assert adopted(body) == expected


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ({"name": "A", "schema": {}, "colour": 1}, 'a resource type has no "colour"'),
        ({"name": 1, "schema": {}}, '"name" is 1, and a name was expected'),
        ({"resource_type_name": "A"}, '"name" is null, and a name was expected'),
        ({"resource_type_name": "A", "id": 1, "name": "a"}, 'the resource "a" comes without its spec'),
    ],
)
def test_a_body_that_makes_no_sense_is_refused_with_the_reason(body: Any, told: str) -> None:
    with pytest.raises(Failure, match=told):
        adopted(body)

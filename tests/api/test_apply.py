"""Server-side apply through the server."""

from __future__ import annotations

import asyncio
from typing import Any

from tests.api.conftest import APPLY, MERGE_PATCH, Api
from tests.api.objects import CONFIGMAPS, CRDS, DEPLOYMENTS, WIDGETS, configmap, definition, deployment, widget


async def applied(api: Api, path: str, obj: Any, manager: str = "me", **query: Any) -> Any:
    return await api("PATCH", path, obj, type=APPLY, fieldManager=manager, **query)


def managers(obj: Any) -> dict[tuple[str, str], Any]:
    return {(each["manager"], each["operation"]): each["fieldsV1"] for each in obj["metadata"]["managedFields"]}


async def test_apply_creates_and_then_changes(api: Api) -> None:
    first = await applied(api, f"{CONFIGMAPS}/a", configmap())
    assert first.status == 201
    second = await applied(api, f"{CONFIGMAPS}/a", {**configmap(), "data": {"y": "2"}})
    assert (second.status, second.json["data"]) == (200, {"y": "2"})
    assert managers(second.json) == {("me", "Apply"): {"f:data": {"f:y": {}}}}


async def test_an_apply_that_changes_nothing_makes_no_revision(api: Api) -> None:
    for obj, path in ((configmap(), f"{CONFIGMAPS}/a"), (deployment(), f"{DEPLOYMENTS}/web")):
        first = (await applied(api, path, obj)).json
        again = (await applied(api, path, obj)).json
        assert again == first


async def test_a_field_of_another_manager_conflicts_unless_forced(api: Api) -> None:
    await api("POST", CRDS, definition())
    await applied(api, f"{WIDGETS}/w", widget(spec={"size": 1}), "first")
    conflict = await applied(api, f"{WIDGETS}/w", widget(spec={"size": 2}), "second")
    assert (conflict.status, conflict.reason) == (409, "Conflict")
    (cause,) = conflict.json["details"]["causes"]
    assert (cause["reason"], cause["field"]) == ("FieldManagerConflict", ".spec.size")
    assert 'conflict with "first"' in conflict.json["message"]
    forced = await applied(api, f"{WIDGETS}/w", widget(spec={"size": 2}), "second", force="true")
    assert forced.json["spec"]["size"] == 2
    assert ("first", "Apply") not in managers(forced.json)


async def test_list_maps_are_merged_by_key(api: Api) -> None:
    await api("POST", CRDS, definition())
    await applied(api, f"{WIDGETS}/w", widget(spec={"size": 1, "parts": [{"name": "a", "count": 1}]}), "first")
    both = await applied(api, f"{WIDGETS}/w", widget(spec={"size": 1, "parts": [{"name": "b"}]}), "second")
    assert [part["name"] for part in both.json["spec"]["parts"]] == ["a", "b"]
    without = await applied(api, f"{WIDGETS}/w", widget(spec={"size": 1}), "first")
    assert [part["name"] for part in without.json["spec"]["parts"]] == ["b"]


async def test_updates_are_tracked_by_the_program_that_made_them(api: Api) -> None:
    created = (await api("POST", CONFIGMAPS, configmap())).json
    assert managers(created) == {("tests", "Update"): {"f:data": {".": {}, "f:x": {}}}}
    patched = await api(
        "PATCH", f"{CONFIGMAPS}/a", {"data": {"y": "2"}}, type=MERGE_PATCH, headers={"user-agent": "other/2 (linux)"}
    )
    assert managers(patched.json)["other", "Update"] == {"f:data": {"f:y": {}}}


async def test_a_status_has_managers_of_its_own(api: Api) -> None:
    await api("POST", CRDS, definition())
    await applied(api, f"{WIDGETS}/w", widget(), "spec-writer")
    status = {**widget(), "status": {"phase": "Ready"}}
    answer = await applied(api, f"{WIDGETS}/w/status", status, "status-writer")
    assert (answer.status, answer.json["status"]) == (200, {"phase": "Ready"})
    entries = {each["manager"]: each for each in answer.json["metadata"]["managedFields"]}
    assert entries["status-writer"]["subresource"] == "status"
    assert entries["status-writer"]["fieldsV1"] == {"f:status": {"f:phase": {}}}


async def test_apply_needs_a_manager_and_known_fields(api: Api) -> None:
    assert (await api("PATCH", f"{CONFIGMAPS}/a", configmap(), type=APPLY)).status == 422
    unknown = await applied(api, f"{CONFIGMAPS}/a", {**configmap(), "bogus": 1})
    assert unknown.status == 400
    assert "bogus" in unknown.json["message"]
    managed = configmap(metadata={"managedFields": [{"manager": "x", "operation": "Apply", "apiVersion": "v1"}]})
    assert (await applied(api, f"{CONFIGMAPS}/a", managed)).status == 400


async def test_yaml_and_dry_runs_are_applied(api: Api) -> None:
    body = b"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {x: 'yes'}\n"
    answer = await applied(api, f"{CONFIGMAPS}/a", body, dryRun="All")
    assert (answer.status, answer.json["data"]) == (201, {"x": "yes"})
    assert (await api("GET", f"{CONFIGMAPS}/a")).status == 404


async def test_applies_that_meet_at_the_creation_all_take_effect(api: Api) -> None:
    answers = await asyncio.gather(
        *(applied(api, f"{CONFIGMAPS}/a", configmap(data={name: "1"}), manager=name) for name in "abcdef")
    )
    assert sorted(each.status for each in answers) == [200] * 5 + [201]
    assert (await api("GET", f"{CONFIGMAPS}/a")).json["data"] == dict.fromkeys("abcdef", "1")


async def test_an_apply_about_an_object_that_is_gone_creates_no_other(api: Api) -> None:
    assert (await applied(api, f"{CONFIGMAPS}/a", configmap(metadata={"uid": "gone"}))).status == 409
    assert (await api("GET", f"{CONFIGMAPS}/a")).status == 404

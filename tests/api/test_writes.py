"""Creating, replacing and patching objects."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from homeostat.edge import turn
from homeostat.server.expiry import expire_events
from tests.api.conftest import JSON_PATCH, MERGE_PATCH, STRATEGIC_PATCH, Api
from tests.api.objects import CONFIGMAPS, CRDS, DEPLOYMENTS, WIDGETS, configmap, definition, deployment, widget


async def test_a_created_object_has_what_the_server_owns(api: Api) -> None:
    answer = await api("POST", CONFIGMAPS, configmap())
    assert answer.status == 201
    metadata = answer.json["metadata"]
    assert metadata["namespace"] == "default"
    assert metadata["uid"]
    assert metadata["creationTimestamp"].endswith("Z")
    assert metadata["resourceVersion"].isdecimal()
    assert (await api("GET", f"{CONFIGMAPS}/a")).json == answer.json


async def test_a_second_object_of_the_name_is_refused(api: Api) -> None:
    await api("POST", CONFIGMAPS, configmap())
    again = await api("POST", CONFIGMAPS, configmap())
    assert (again.status, again.reason) == (409, "AlreadyExists")
    assert again.json["message"] == 'configmaps "a" already exists'
    assert again.json["details"] == {"name": "a", "kind": "configmaps"}


async def test_an_absent_object_is_not_found(api: Api) -> None:
    answer = await api("GET", f"{DEPLOYMENTS}/none")
    assert (answer.status, answer.reason) == (404, "NotFound")
    assert answer.json["message"] == 'deployments.apps "none" not found'


async def test_a_version_on_create_is_refused(api: Api) -> None:
    answer = await api("POST", CONFIGMAPS, configmap(metadata={"resourceVersion": "5"}))
    assert answer.status == 400


async def test_a_generated_name_has_five_letters_behind_its_prefix(api: Api) -> None:
    obj = configmap()
    obj["metadata"] = {"generateName": "run-"}
    names = {(await api("POST", CONFIGMAPS, obj)).json["metadata"]["name"] for _ in range(5)}
    assert len(names) == 5
    assert all(name.startswith("run-") and len(name) == 9 for name in names)


async def test_a_stale_update_conflicts(api: Api) -> None:
    first = (await api("POST", CONFIGMAPS, configmap())).json
    second = (await api("PUT", f"{CONFIGMAPS}/a", {**first, "data": {"x": "2"}})).json
    stale = await api("PUT", f"{CONFIGMAPS}/a", {**first, "data": {"x": "3"}})
    assert (stale.status, stale.reason) == (409, "Conflict")
    assert int(second["metadata"]["resourceVersion"]) > int(first["metadata"]["resourceVersion"])


async def test_a_built_in_kind_may_be_replaced_without_a_version(api: Api) -> None:
    await api("POST", CONFIGMAPS, configmap())
    answer = await api("PUT", f"{CONFIGMAPS}/a", {**configmap(), "data": {"x": "2"}})
    assert (answer.status, answer.json["data"]) == (200, {"x": "2"})


async def test_a_custom_kind_is_not_replaced_without_a_version(api: Api) -> None:
    await api("POST", CRDS, definition())
    await api("POST", WIDGETS, widget())
    answer = await api("PUT", f"{WIDGETS}/w", widget(spec={"size": 2}))
    assert answer.status == 422
    assert answer.json["details"]["causes"][0]["field"] == "metadata.resourceVersion"


async def test_a_custom_kind_is_not_created_by_put(api: Api) -> None:
    await api("POST", CRDS, definition())
    assert (await api("PUT", f"{WIDGETS}/w", widget(resourceVersion="1"))).status == 404


async def test_a_lease_is_created_by_put(api: Api) -> None:
    path = "/apis/coordination.k8s.io/v1/namespaces/default/leases/l"
    lease = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "l"}, "spec": {}}
    assert (await api("PUT", path, lease)).status == 201


@pytest.mark.parametrize(
    ("method", "body", "type_"),
    [
        ("PUT", None, ""),
        ("PATCH", {"data": {"x": "1"}}, MERGE_PATCH),
        ("PATCH", [{"op": "replace", "path": "/data/x", "value": "1"}], JSON_PATCH),
        ("PATCH", {"data": {"x": "1"}}, STRATEGIC_PATCH),
    ],
    ids=["put", "merge", "json", "strategic"],
)
async def test_a_write_that_changes_nothing_makes_no_revision(api: Api, method: str, body: Any, type_: str) -> None:
    created = (await api("POST", CONFIGMAPS, configmap())).json
    answer = await api(method, f"{CONFIGMAPS}/a", body if body is not None else created, type=type_)
    assert answer.status == 200
    assert answer.json["metadata"]["resourceVersion"] == created["metadata"]["resourceVersion"]


async def test_a_merge_patch_removes_by_null(api: Api) -> None:
    await api("POST", CONFIGMAPS, {**configmap(), "data": {"x": "1", "y": "2"}})
    answer = await api("PATCH", f"{CONFIGMAPS}/a", {"data": {"x": None, "z": "3"}}, type=MERGE_PATCH)
    assert answer.json["data"] == {"y": "2", "z": "3"}


async def test_a_json_patch_whose_test_fails_is_invalid(api: Api) -> None:
    await api("POST", CONFIGMAPS, configmap())
    operations = [{"op": "test", "path": "/data/x", "value": "9"}, {"op": "remove", "path": "/data/x"}]
    answer = await api("PATCH", f"{CONFIGMAPS}/a", operations, type=JSON_PATCH)
    assert (answer.status, answer.reason) == (422, "Invalid")
    assert (await api("GET", f"{CONFIGMAPS}/a")).json["data"] == {"x": "1"}


async def test_a_patch_may_name_the_version_it_is_for(api: Api) -> None:
    await api("POST", CONFIGMAPS, configmap())
    patch = {"metadata": {"resourceVersion": "1"}, "data": {"x": "2"}}
    assert (await api("PATCH", f"{CONFIGMAPS}/a", patch, type=MERGE_PATCH)).status == 409


async def test_a_strategic_patch_merges_containers_by_name(api: Api) -> None:
    await api("POST", DEPLOYMENTS, deployment())
    container = {"name": "main", "image": "nginx:2"}
    patch = {"spec": {"template": {"spec": {"containers": [container]}}}}
    answer = await api("PATCH", f"{DEPLOYMENTS}/web", patch, type=STRATEGIC_PATCH)
    (patched,) = answer.json["spec"]["template"]["spec"]["containers"]
    assert (patched["image"], patched["terminationMessagePath"]) == ("nginx:2", "/dev/termination-log")


@pytest.mark.parametrize(
    ("patch", "words"),
    [
        ({"metadata": {"labels": "x"}}, "metadata.labels: cannot restore map from string"),
        ({"spec": {"replicas": "x"}}, "spec.replicas: unrecognized type: int32"),
        ({"spec": {"replicas": 1.5}}, "spec.replicas: cannot convert float64 to int32"),
        ({"spec": {"paused": 1}}, "spec.paused: unrecognized type: bool"),
        ({"spec": {"template": 5}}, "spec.template: cannot restore struct from: int64"),
        ({"spec": {"template": {"spec": {"volumes": {}}}}}, "spec.volumes: cannot restore slice from map"),
    ],
    ids=str,
)
async def test_wrong_types_of_a_strategic_patch_are_refused_in_the_words_of_kubernetes(
    api: Api, patch: dict[str, Any], words: str
) -> None:
    await api("POST", DEPLOYMENTS, deployment())
    answer = await api("PATCH", f"{DEPLOYMENTS}/web", patch, type=STRATEGIC_PATCH)
    assert (answer.status, answer.reason) == (422, "Invalid")
    assert words in answer.json["message"]


async def test_a_strategic_patch_of_a_custom_kind_is_unsupported(api: Api) -> None:
    await api("POST", CRDS, definition())
    await api("POST", WIDGETS, widget())
    answer = await api("PATCH", f"{WIDGETS}/w", {"spec": {"size": 2}}, type=STRATEGIC_PATCH)
    assert (answer.status, answer.reason) == (415, "UnsupportedMediaType")
    assert MERGE_PATCH in answer.json["message"]


@pytest.mark.parametrize(
    ("type_", "body", "status"),
    [
        ("application/xml", b"<a/>", 415),
        (MERGE_PATCH, b"{", 400),
        (MERGE_PATCH, b"[]", 400),
        (JSON_PATCH, b'{"op": "add"}', 400),
        (JSON_PATCH, b'[{"op": "remove", "path": "/data/none"}]', 422),
    ],
)
async def test_a_bad_patch_gets_its_code(api: Api, type_: str, body: bytes, status: int) -> None:
    await api("POST", CONFIGMAPS, configmap())
    assert (await api("PATCH", f"{CONFIGMAPS}/a", body, type=type_)).status == status


async def test_a_body_that_is_no_json_is_refused_with_the_expected_kind(api: Api) -> None:
    answer = await api("POST", CONFIGMAPS, b"apiVersion: v1\nkind: Pod\n", type="application/json")
    assert (answer.status, answer.reason) == (400, "BadRequest")
    assert answer.json["message"].startswith("the object provided is unrecognized (must be of type ConfigMap): ")


async def test_too_many_patch_operations_are_too_large(api: Api) -> None:
    await api("POST", CONFIGMAPS, configmap())
    operations = [{"op": "test", "path": "/data/x", "value": "1"}] * 10_001
    assert (await api("PATCH", f"{CONFIGMAPS}/a", operations, type=JSON_PATCH)).status == 413


async def test_generation_counts_changes_of_the_spec_alone(api: Api) -> None:
    await api("POST", CRDS, definition())
    created = (await api("POST", WIDGETS, widget())).json
    labelled = (await api("PATCH", f"{WIDGETS}/w", {"metadata": {"labels": {"a": "b"}}}, type=MERGE_PATCH)).json
    resized = (await api("PATCH", f"{WIDGETS}/w", {"spec": {"size": 5}}, type=MERGE_PATCH)).json
    status = (await api("PATCH", f"{WIDGETS}/w/status", {"status": {"phase": "Done"}}, type=MERGE_PATCH)).json
    assert [each["metadata"]["generation"] for each in (created, labelled, resized, status)] == [1, 1, 2, 2]


async def test_a_main_write_cannot_change_status_and_a_status_write_nothing_else(api: Api) -> None:
    await api("POST", CRDS, definition())
    created = (await api("POST", WIDGETS, {**widget(), "status": {"phase": "Forged"}})).json
    assert "status" not in created
    body = {**created, "spec": {"size": 9}, "status": {"phase": "Ready"}}
    updated = (await api("PUT", f"{WIDGETS}/w/status", body)).json
    assert (updated["spec"]["size"], updated["status"]) == (1, {"phase": "Ready"})
    main = (await api("PUT", f"{WIDGETS}/w", {**updated, "spec": {"size": 2}, "status": {"phase": "Lost"}})).json
    assert (main["spec"]["size"], main["status"]) == (2, {"phase": "Ready"})


async def test_a_dry_run_stores_nothing(api: Api) -> None:
    before = api.plane.store.revision
    created = await api("POST", CONFIGMAPS, configmap(), dryRun="All")
    assert (created.status, "resourceVersion" in created.json["metadata"]) == (201, False)
    assert (await api("GET", f"{CONFIGMAPS}/a")).status == 404
    await api("POST", CONFIGMAPS, configmap())
    patched = await api("PATCH", f"{CONFIGMAPS}/a", {"data": {"x": "2"}}, type=MERGE_PATCH, dryRun="All")
    assert patched.json["data"] == {"x": "2"}
    assert (await api("DELETE", f"{CONFIGMAPS}/a", dryRun="All")).status == 200
    assert (await api("GET", f"{CONFIGMAPS}/a")).json["data"] == {"x": "1"}
    assert api.plane.store.revision == before + 1


@pytest.mark.parametrize("validation", ["Strict", "Warn", "Ignore"])
async def test_unknown_and_repeated_fields_are_treated_as_asked(api: Api, validation: str) -> None:
    body = b'{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"bogus":1,"data":{"x":"1","x":"2"}}'
    answer = await api("POST", CONFIGMAPS, body, fieldValidation=validation)
    if validation == "Strict":
        assert answer.status == 400
        problem = 'strict decoding error: unknown field "bogus", duplicate field "data.x"'
        assert answer.json["message"] == f'ConfigMap in version "v1" cannot be handled as a ConfigMap: {problem}'
        return
    assert answer.status == 201
    assert "bogus" not in answer.json
    warnings = answer.headers.get("warning", [])
    told = ['299 - "unknown field \\"bogus\\""', '299 - "duplicate field \\"data.x\\""']
    assert warnings == (told if validation == "Warn" else [])


@pytest.mark.slow
@pytest.mark.parametrize(("method", "type_"), [("POST", "application/yaml"), ("PATCH", "application/apply-patch+yaml")])
async def test_a_large_yaml_body_does_not_block_others(api: Api, method: str, type_: str) -> None:
    lines = b"".join(b"  key%d: value\n" % number for number in range(60_000))
    body = b"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: large\ndata:\n" + lines
    path = CONFIGMAPS if method == "POST" else f"{CONFIGMAPS}/large"
    turns = 0
    writing = asyncio.ensure_future(api(method, path, body, type=type_, fieldManager="me"))
    while not writing.done():
        await asyncio.sleep(0.001)
        turns += 1
    answer = await writing
    assert (answer.status, len(answer.json["data"])) == (201, 60_000)
    assert turns > 5


async def test_repeated_fields_do_not_hide_behind_spaces(api: Api) -> None:
    body = b'{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":{"x":"1","x" :"2"}}'
    assert (await api("POST", CONFIGMAPS, body, fieldValidation="Strict")).status == 400


async def test_a_refusal_carries_the_warnings_before_it(api: Api) -> None:
    await api("POST", CRDS, definition())
    answer = await api("POST", WIDGETS, widget(spec={"size": -1, "bogus": True}))
    assert (answer.status, answer.headers["warning"]) == (422, ['299 - "unknown field \\"spec.bogus\\""'])


async def test_an_object_in_a_missing_namespace_is_not_found(api: Api) -> None:
    answer = await api("POST", "/api/v1/namespaces/none/configmaps", configmap())
    assert (answer.status, answer.json["message"]) == (404, 'namespaces "none" not found')


async def test_an_object_for_another_place_is_refused(api: Api) -> None:
    assert (await api("POST", CONFIGMAPS, configmap(metadata={"namespace": "other"}))).status == 400
    await api("POST", CONFIGMAPS, configmap())
    assert (await api("PUT", f"{CONFIGMAPS}/a", configmap("b"))).status == 400
    assert (await api("POST", CONFIGMAPS, {**configmap(), "kind": "Secret"})).status == 400


async def test_a_service_account_token_authenticates(api: Api) -> None:
    account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "robot"}}
    await api("POST", "/api/v1/namespaces/default/serviceaccounts", account)
    request = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"expirationSeconds": 600}}
    minted = await api("POST", "/api/v1/namespaces/default/serviceaccounts/robot/token", request)
    assert minted.status == 201
    bearer = {"authorization": f"Bearer {minted.json['status']['token']}"}
    review = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
    me = await api("POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews", review, user=None, headers=bearer)
    assert me.json["status"]["userInfo"]["username"] == "system:serviceaccount:default:robot"
    refused = await api("GET", f"{CONFIGMAPS}/a", user=None, headers=bearer)
    assert (refused.status, refused.reason) == (403, "Forbidden")


async def test_a_dry_run_shows_the_revision_that_it_leaves(api: Api) -> None:
    created = (await api("POST", CONFIGMAPS, configmap())).json
    tried = (await api("PUT", f"{CONFIGMAPS}/a", configmap(data={"x": "2"}), dryRun="All")).json
    assert tried["data"] == {"x": "2"}
    assert tried["metadata"]["resourceVersion"] == created["metadata"]["resourceVersion"]
    assert (await api("GET", f"{CONFIGMAPS}/a")).json == created


async def test_an_empty_namespace_is_that_of_the_url(api: Api) -> None:
    answer = await api("POST", CONFIGMAPS, configmap(metadata={"namespace": ""}))
    assert (answer.status, answer.json["metadata"]["namespace"]) == (201, "default")


async def test_a_token_request_that_is_no_object_is_refused(api: Api) -> None:
    await api("POST", "/api/v1/namespaces/default/serviceaccounts", {"metadata": {"name": "bot"}})
    assert (await api("POST", "/api/v1/namespaces/default/serviceaccounts/bot/token", [])).status == 400


async def test_scale_takes_no_other_patch_than_it_knows(api: Api) -> None:
    await api("POST", DEPLOYMENTS, deployment())
    assert (await api("PATCH", f"{DEPLOYMENTS}/web/scale", {}, type="application/json")).status == 415


async def test_old_events_go_however_many_there_are(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    events = "/api/v1/namespaces/default/events"
    event = {"metadata": {"generateName": "e-"}, "involvedObject": {"namespace": "default"}}
    for _ in range(4):
        await asyncio.gather(*(api("POST", events, event) for _ in range(130)))
    kind = api.plane.app.backend.registry.find("", "v1", "events")
    assert kind is not None
    soon = datetime.now(UTC) + timedelta(minutes=59)
    with monkeypatch.context() as short:
        short.setattr(turn, "TURN_S", 0.0)
        looking = asyncio.ensure_future(expire_events(api.plane.store, kind, now=soon))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert not looking.done(), "others run while it reads Events"
        assert await looking == 0
    assert await expire_events(api.plane.store, kind, now=soon + timedelta(minutes=2)) == 520


async def test_scale_changes_replicas_alone(api: Api) -> None:
    await api("POST", DEPLOYMENTS, deployment())
    scale = (await api("GET", f"{DEPLOYMENTS}/web/scale")).json
    assert (scale["kind"], scale["spec"], scale["status"]["selector"]) == ("Scale", {"replicas": 1}, "app=web")
    answer = await api("PUT", f"{DEPLOYMENTS}/web/scale", {**scale, "spec": {"replicas": 3}})
    assert (answer.status, answer.json["spec"]) == (200, {"replicas": 3})
    assert (await api("GET", f"{DEPLOYMENTS}/web")).json["spec"]["replicas"] == 3
    patched = await api("PATCH", f"{DEPLOYMENTS}/web/scale", {"spec": {"replicas": 2}}, type=MERGE_PATCH)
    assert patched.json["spec"] == {"replicas": 2}


async def test_many_warnings_become_few_headers(api: Api) -> None:
    unknown = {f"unknown{number}": 1 for number in range(150)}
    created = await api("POST", CONFIGMAPS, configmap("many", **unknown), fieldValidation="Warn")
    assert created.status == 201
    warnings = created.headers["warning"]
    assert len(warnings) == 24
    assert warnings[0] == '299 - "unknown field \\"unknown0\\""'
    assert warnings[-1] == '299 - "there are more warnings than are shown"'


async def test_a_write_that_changes_nothing_is_answered_with_the_stored_object_and_no_commit(api: Api) -> None:
    created = (await api("POST", CONFIGMAPS, configmap())).json
    watch = await api.watch(CONFIGMAPS, resourceVersion=created["metadata"]["resourceVersion"])
    commits = api.plane.store.counters.batches
    patched = await api("PATCH", f"{CONFIGMAPS}/a", {"data": created["data"]}, type=MERGE_PATCH)
    replaced = await api("PUT", f"{CONFIGMAPS}/a", created)
    assert patched.json == replaced.json == created
    assert api.plane.store.counters.batches == commits
    await api("DELETE", f"{CONFIGMAPS}/a")
    change, last = await watch.next()
    version = last["metadata"].pop("resourceVersion")
    assert change == "DELETED"
    assert int(version) > int(created["metadata"].pop("resourceVersion"))
    assert last == created

"""Deleting objects: at once, held by finalizers, with preconditions, in collections."""

from __future__ import annotations

from threading import get_ident
from typing import Any

import pytest

from homeostat.server.verbs.delete import _is_deleted
from homeostat.server.view.encode import object_of
from tests.api.conftest import JSON_PATCH, MERGE_PATCH, Api
from tests.api.objects import CONFIGMAPS, CRDS, WIDGETS, configmap, definition, widget


async def test_a_deleted_object_is_gone_and_the_response_says_so(api: Api) -> None:
    uid = (await api("POST", CONFIGMAPS, configmap())).json["metadata"]["uid"]
    answer = await api("DELETE", f"{CONFIGMAPS}/a")
    assert (answer.status, answer.json["status"]) == (200, "Success")
    assert answer.json["details"] == {"name": "a", "kind": "configmaps", "uid": uid}
    assert (await api("DELETE", f"{CONFIGMAPS}/a")).status == 404


async def test_a_finalizer_holds_an_object_until_it_is_removed(api: Api) -> None:
    await api("POST", CONFIGMAPS, configmap(metadata={"finalizers": ["example.com/hold"]}))
    pending = await api("DELETE", f"{CONFIGMAPS}/a")
    assert (pending.status, pending.json["kind"]) == (200, "ConfigMap")
    assert pending.json["metadata"]["deletionTimestamp"]
    again = await api("DELETE", f"{CONFIGMAPS}/a")
    assert again.json["metadata"]["resourceVersion"] == pending.json["metadata"]["resourceVersion"]
    freed = await api("PATCH", f"{CONFIGMAPS}/a", {"metadata": {"finalizers": None}}, type=MERGE_PATCH)
    assert freed.status == 200
    assert (await api("GET", f"{CONFIGMAPS}/a")).status == 404


async def test_a_terminating_object_takes_no_new_finalizer(api: Api) -> None:
    await api("POST", CONFIGMAPS, configmap(metadata={"finalizers": ["example.com/hold"]}))
    await api("DELETE", f"{CONFIGMAPS}/a")
    operations = [{"op": "add", "path": "/metadata/finalizers/-", "value": "example.com/more"}]
    answer = await api("PATCH", f"{CONFIGMAPS}/a", operations, type=JSON_PATCH)
    assert (answer.status, answer.json["details"]["causes"][0]["field"]) == (422, "metadata.finalizers")


@pytest.mark.parametrize("wrong", [{"uid": "other"}, {"resourceVersion": "1"}])
async def test_a_precondition_that_does_not_hold_conflicts(api: Api, wrong: dict[str, str]) -> None:
    await api("POST", CONFIGMAPS, configmap())
    options = {"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": wrong}
    answer = await api("DELETE", f"{CONFIGMAPS}/a", options)
    assert (answer.status, answer.reason) == (409, "Conflict")


async def test_a_precondition_that_holds_lets_go(api: Api) -> None:
    metadata = (await api("POST", CONFIGMAPS, configmap())).json["metadata"]
    preconditions = {"uid": metadata["uid"], "resourceVersion": metadata["resourceVersion"]}
    assert (await api("DELETE", f"{CONFIGMAPS}/a", {"preconditions": preconditions})).status == 200


@pytest.mark.parametrize(
    ("options", "status"),
    [
        ({"propagationPolicy": "Sideways"}, 422),
        ({"propagationPolicy": "Orphan", "orphanDependents": True}, 422),
        ({"kind": "Pod"}, 400),
        ({"dryRun": ["Some"]}, 422),
        ({"gracePeriodSeconds": "soon"}, 400),
    ],
)
async def test_bad_delete_options_get_their_code(api: Api, options: dict[str, object], status: int) -> None:
    await api("POST", CONFIGMAPS, configmap())
    assert (await api("DELETE", f"{CONFIGMAPS}/a", options)).status == status
    assert (await api("GET", f"{CONFIGMAPS}/a")).status == 200


async def test_a_collection_is_deleted_by_selector(api: Api) -> None:
    for name, app in (("a", "x"), ("b", "x"), ("c", "y")):
        await api("POST", CONFIGMAPS, configmap(name, metadata={"labels": {"app": app}}))
    answer = await api("DELETE", CONFIGMAPS, labelSelector="app=x")
    assert [item["metadata"]["name"] for item in answer.json["items"]] == ["a", "b"]
    assert (await api("GET", f"{CONFIGMAPS}/a")).status == 404
    assert (await api("GET", f"{CONFIGMAPS}/c")).status == 200


async def test_a_namespace_that_terminates_takes_nothing_new(api: Api) -> None:
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "going"}}
    created = await api("POST", "/api/v1/namespaces", namespace)
    assert created.json["metadata"]["labels"] == {"kubernetes.io/metadata.name": "going"}
    assert (created.json["spec"], created.json["status"]) == ({"finalizers": ["kubernetes"]}, {"phase": "Active"})
    held = configmap(metadata={"finalizers": ["example.com/hold"]})
    await api("POST", "/api/v1/namespaces/going/configmaps", held)
    pending = await api("DELETE", "/api/v1/namespaces/going")
    assert pending.json["status"]["phase"] == "Terminating"
    refused = await api("POST", "/api/v1/namespaces/going/configmaps", configmap("b"))
    assert (refused.status, refused.json["details"]["causes"][0]["reason"]) == (403, "NamespaceTerminating")


async def test_the_namespaces_of_the_system_stay(api: Api) -> None:
    assert (await api("DELETE", "/api/v1/namespaces/default")).status == 403


async def test_namespaces_are_deleted_one_by_one_only(api: Api) -> None:
    assert (await api("DELETE", "/api/v1/namespaces")).status == 405
    found = {each["name"]: each["verbs"] for each in (await api("GET", "/api/v1")).json["resources"]}
    assert "deletecollection" not in found["namespaces"]
    assert "deletecollection" in found["configmaps"]


async def test_a_watch_of_a_definition_that_goes_ends(api: Api) -> None:
    await api("POST", CRDS, definition())
    watch = await api.watch(WIDGETS, resourceVersion=api.plane.store.revision)
    await api("DELETE", f"{CRDS}/widgets.example.com")
    await api("PATCH", f"{CRDS}/widgets.example.com", {"metadata": {"finalizers": None}}, type=MERGE_PATCH)
    assert await watch.ends()
    assert (await api("GET", WIDGETS)).status == 404


async def test_a_definition_that_terminates_takes_no_objects(api: Api) -> None:
    await api("POST", CRDS, definition())
    await api("POST", WIDGETS, widget(finalizers=["example.com/hold"]))
    deleted = await api("DELETE", f"{CRDS}/widgets.example.com")
    assert "Terminating" in [each["type"] for each in deleted.json["status"]["conditions"]]
    assert (await api("POST", WIDGETS, widget("late"))).status in {403, 405}


@pytest.mark.parametrize(
    ("claim", "status"),
    [({"resourceVersion": "1"}, 409), ({"uid": "other"}, 409), ({"name": "other"}, 400), ({}, 200)],
    ids=["stale", "another", "misnamed", "unclaimed"],
)
async def test_a_namespace_is_released_only_as_it_was_seen(api: Api, claim: dict[str, str], status: int) -> None:
    await api("POST", "/api/v1/namespaces", {"metadata": {"name": "going"}})
    await api("DELETE", "/api/v1/namespaces/going")
    body = {"metadata": {"name": "going", **claim}, "spec": {"finalizers": []}}
    assert (await api("PUT", "/api/v1/namespaces/going/finalize", body)).status == status
    assert (await api("GET", "/api/v1/namespaces/going")).status == (404 if status == 200 else 200)


async def test_a_job_that_is_being_deleted_keeps_what_was_decided(api: Api) -> None:
    spec = {"template": {"spec": {"containers": [{"name": "a", "image": "b"}], "restartPolicy": "Never"}}}
    jobs = "/apis/batch/v1/namespaces/default/jobs"
    await api("POST", jobs, {"metadata": {"name": "a"}, "spec": spec})
    await api("DELETE", f"{jobs}/a", propagationPolicy="Foreground")
    again = await api("DELETE", f"{jobs}/a")
    assert again.json["metadata"]["finalizers"] == ["foregroundDeletion"]
    await api("POST", jobs, {"metadata": {"name": "b"}, "spec": spec})
    assert (await api("DELETE", f"{jobs}/b")).json["metadata"]["finalizers"] == ["orphan"]
    await api("POST", jobs, {"metadata": {"name": "c"}, "spec": spec})
    assert (await api("DELETE", f"{jobs}/c", orphanDependents="false")).json["status"] == "Success"


@pytest.mark.parametrize("path", [f"{CONFIGMAPS}/large-0", CONFIGMAPS], ids=["one", "collection"])
async def test_a_large_object_is_deleted_beside_the_event_loop(api: Api, path: str, monkeypatch: Any) -> None:
    for number in range(3):
        await api("POST", CONFIGMAPS, configmap(f"large-{number}", data={"text": "x" * 70_000}))
    threads: set[int] = set()

    def decode(kind: Any, record: Any) -> Any:
        threads.add(get_ident() if record.key.name.startswith("large") else 0)
        return object_of(kind, record)

    monkeypatch.setattr("homeostat.server.verbs.delete.object_of", decode)
    assert (await api("DELETE", path)).status == 200
    assert (await api("GET", f"{CONFIGMAPS}/large-0")).status == 404
    assert threads - {0}
    assert get_ident() not in threads


async def test_a_collection_of_large_objects_is_deleted_in_small_parts(api: Api, monkeypatch: Any) -> None:
    monkeypatch.setattr("homeostat.server.verbs.delete._BYTES_AT_ONCE", 100_000)
    for number in range(6):
        await api("POST", CONFIGMAPS, configmap(f"large-{number}", data={"text": "x" * 70_000}))
    at_once = [0]

    async def count(deletion: Any) -> bool:
        at_once.append(at_once[-1] + 1)
        is_deleted = await _is_deleted(deletion)
        at_once.append(at_once[-1] - 1)
        return is_deleted

    monkeypatch.setattr("homeostat.server.verbs.delete._is_deleted", count)
    listed = (await api("DELETE", CONFIGMAPS)).json
    assert len(listed["items"]) >= 6
    assert max(at_once) <= 3
    assert (await api("GET", CONFIGMAPS)).json["items"] == []

"""Resources over HTTP, on a real plane, kept by a real operator."""

from __future__ import annotations

import asyncio

import pytest

from homeostat.client.base import Client
from homeostat.objects.json import JsonObject
from homeostat.testing.eventually import eventually
from tests.web.actions.calling import Api, note
from tests.web.actions.shelf import World

NOTES = "/apis/resources.homeostat.dev/v1/namespaces/default/notes"
REFUSED: list[tuple[JsonObject, str]] = [
    ({"action_plugin": "magic", "spec": {}}, 'unknown plugin "magic"; known plugins:'),
    ({"action_plugin": None, "spec": {}}, "reconciler"),
    ({"action_plugin": "shelf", "spec": {}, "resource_type_name": "Nope"}, "spec is required"),
    ({"action_plugin": "shelf", "spec": None}, "spec is required"),
    ({"action_plugin": "shelf", "resource_type_name": "Nope"}, "Resource type Nope/v1 not found"),
    ({"action_plugin": "shelf", "resource_type_version": "v2"}, "Resource type Note/v2 not found"),
    ({"spec": {"size": 1}}, "Spec validation failed: text: Required value"),
    ({"spec": {"size": 0, "tags": ["a", 1]}}, "text: Required value"),
    ({"spec": {"text": "a", "tags": ["a", 1]}}, "tags[1]"),
    ({"action_plugin": "command"}, "--allow-programs"),
]
MISSING = [
    ("GET", "/resources/7", 404),
    ("DELETE", "/resources/7", 404),
    ("POST", "/resources/7/reconcile", 404),
    ("GET", "/resources/7/outputs", 404),
    ("GET", "/resources/seven", 422),
    ("PATCH", "/resources/7", 405),
    ("GET", "/nothing", 404),
]


async def test_a_resource_is_declared_kept_and_reported(notes: Api, shelf: World) -> None:
    made = await notes.post("/resources", note("one", metadata={"team": "a"}, plugin_config={"prefix": ">"}))
    assert (made.status, made.headers["Location"]) == (201, "/api/v1/resources/1")
    body = made.body
    assert (body["id"], body["name"], body["action_plugin"]) == (1, "one", "shelf")
    assert (body["status"], body["generation"], body["observed_generation"]) == ("pending", 1, 0)
    assert body["spec"] == {"text": "hello", "size": 3}
    assert (body["metadata"], body["plugin_config"]) == ({"team": "a"}, {"prefix": ">"})
    assert (body["finalizers"], body["outputs"], body["conditions"]) == (["shelf"], {}, [])
    assert (body["last_reconcile_time"], body["deleted_at"]) == (None, None)

    await notes.becomes(1, "ready")
    settled = await eventually(lambda: notes.get("/resources/1"), lambda each: "ReconcileSuccess" in str(each.body))
    ready = settled.body
    assert shelf.things == {"one": {"text": "hello", "size": 3}}
    assert (ready["observed_generation"], ready["outputs"]) == (1, {"place": "one"})
    assert {each["type"]: (each["status"], each["reason"]) for each in ready["conditions"]} == {
        "Ready": ("True", "ReconcileSuccess"),
        "Reconciling": ("False", "ReconcileComplete"),
        "Degraded": ("False", "NoErrors"),
    }
    for field in ("created_at", "updated_at", "last_reconcile_time", "next_reconcile_time"):
        assert ready[field].endswith("Z"), field
    assert (await notes.get("/resources/1/outputs")).body == {"outputs": {"place": "one"}}


async def test_names_are_validated(notes: Api) -> None:
    for name in ("a", "my-cluster", "x" * 63):
        assert (await notes.post("/resources", note(name))).status == 201, name
    for name in ("", "x" * 64, "MyCluster", "-x", "x-", "a.b", "ä", "name\n"):
        answer = await notes.post("/resources", note(name))
        assert answer.status == 422, name
        assert answer.body["detail"][0]["loc"] == ["body", "name"]


async def test_a_part_of_more_than_a_mebibyte_is_refused(notes: Api) -> None:
    large, fitting = {"text": "x" * 1048576}, {"text": "x" * (1048576 - 64)}
    await notes.made("/resources", note("two", spec=fitting, plugin_config=fitting))
    for part in ("spec", "plugin_config"):
        answer = await notes.post("/resources", {**note("one"), part: large})
        assert (answer.status, answer.body["detail"][0]["loc"]) == (422, ["body", part])
        assert (await notes.put("/resources/1", {part: large})).status == 422


async def test_checks_are_made_in_order(notes: Api) -> None:
    for body, told in REFUSED:
        answer = await notes.post("/resources", {**note("one"), **body})
        assert (answer.status, told in answer.body["detail"]) == (400, True), answer.body


async def test_all_that_is_wrong_with_a_spec_is_reported(notes: Api) -> None:
    detail = (await notes.post("/resources", note("one", spec={"size": 0, "tags": [1]}))).body["detail"]
    assert [part in detail for part in ("text: ", "size: ", "tags[0]: ")] == [True] * 3
    assert len(detail.split("; ")) == 3


async def test_a_body_of_the_wrong_shape_is_a_list_of_what_is_wrong(notes: Api) -> None:
    for body in (b"{", b"", b"[]", b'{"name": 1}', b'{"name":"a","spec":[]}', b"\xff"):
        answer = await notes.call("POST", "/resources", body)
        assert answer.status == 422, body
        assert [sorted(each) for each in answer.body["detail"]] == [["loc", "msg", "type"]]


async def test_a_name_is_of_one_live_resource_of_a_type(notes: Api, shelf: World) -> None:
    await notes.made("/resources", note("one"))
    assert (await notes.post("/resources", note("one"))).status == 409
    other = {"name": "Page", "version": "v1", "schema": {}, "action_plugin": "shelf"}
    await notes.made("/resource-types", other)
    await notes.made("/resources", note("one", resource_type_name="Page"))
    await notes.becomes(1, "ready")
    assert (await notes.delete("/resources/1")).status == 202
    await notes.is_gone(1)
    assert (await notes.made("/resources", note("one")))["id"] > 2


async def test_an_update_replaces_and_always_reconciles(notes: Api, shelf: World) -> None:
    await notes.made("/resources", note("one", spec={"text": "a", "size": 9}, plugin_config={"prefix": "x"}))
    await notes.becomes(1, "ready")
    changed = await notes.put("/resources/1", {"spec": {"text": "b"}})
    assert (changed.status, changed.body["status"], changed.body["generation"]) == (200, "pending", 2)
    assert changed.body["spec"] == {"text": "b", "size": 3}
    assert changed.body["plugin_config"] == {"prefix": "x"}
    await notes.becomes(1, "ready")
    assert shelf.things["one"] == {"text": "b", "size": 3}

    plans = shelf.plans
    same = await notes.put("/resources/1", {"spec": {"text": "b"}})
    assert same.body["status"] == "pending"
    await eventually(lambda: shelf.plans > plans)
    await notes.becomes(1, "ready")

    configured = await notes.put("/resources/1", {"plugin_config": {}})
    assert (configured.body["plugin_config"], configured.body["spec"]["text"]) == ({}, "b")
    assert (await notes.put("/resources/1", {"spec": {"size": 1}})).status == 400
    assert (await notes.put("/resources/99", {"spec": {"text": "b"}})).status == 404


async def test_who_has_seen_something_else_is_refused(notes: Api) -> None:
    await notes.made("/resources", note("one"))
    await notes.becomes(1, "ready")
    seen = await notes.get("/resources/1")
    assert (await notes.put("/resources/1", {"spec": {"text": "b"}}, If_Match='"1"')).status == 412
    first = await notes.put("/resources/1", {"spec": {"text": "b"}}, If_Match=seen.etag)
    assert first.status == 200
    assert (await notes.put("/resources/1", {"spec": {"text": "c"}}, If_Match=seen.etag)).status == 412
    assert (await notes.delete("/resources/1", If_Match=seen.etag)).status == 412
    assert (await notes.put("/resources/1", {"spec": {"text": "c"}}, If_Match="*")).status == 200
    await notes.becomes(1, "ready")
    last = await notes.get("/resources/1")
    assert (last.body["spec"]["text"], last.headers["Content-Type"]) == ("c", "application/json")
    assert (await notes.delete("/resources/1", If_Match=last.etag)).status == 202


async def test_of_many_updates_at_once_each_is_taken_and_none_is_lost(notes: Api) -> None:
    await notes.made("/resources", note("one"))
    answers = await asyncio.gather(*(notes.put("/resources/1", {"spec": {"text": f"t{at}"}}) for at in range(8)))
    assert [each.status for each in answers] == [200] * 8
    last = max(answers, key=lambda each: each.body["generation"])
    assert (await notes.get("/resources/1")).body["spec"] == last.body["spec"]


async def test_apply_by_name_may_be_sent_again_and_again(notes: Api, shelf: World) -> None:
    path, wanted = "/resources/by-name/Note/v1/one", {"action_plugin": "shelf", "spec": {"text": "a"}}
    made = await notes.put(path, wanted)
    assert (made.status, made.body["id"]) == (201, 1)
    await notes.becomes(1, "ready")
    before = await notes.get(path)
    again = await notes.put(path, wanted)
    assert (again.status, again.etag, again.body["status"]) == (200, before.etag, "ready")
    changed = await notes.put(path, {"spec": {"text": "b"}, "metadata": {"team": "b"}})
    assert (changed.status, changed.body["generation"], changed.body["metadata"]) == (200, 2, {"team": "b"})
    assert (await notes.put("/resources/by-name/Note/v1/Wrong", wanted)).status == 422
    assert (await notes.put("/resources/by-name/Note/v9/one", wanted)).status == 400
    assert (await notes.get("/resources/by-name/Note/v1/none")).status == 404
    assert (await notes.get("/resources/by-name/Nope/v1/one")).status == 404


async def test_a_resource_that_is_being_deleted_stays_visible(notes: Api, shelf: World, client: Client) -> None:
    await notes.made("/resources", note("one"))
    await notes.becomes(1, "ready")
    added = await notes.put("/resources/1/finalizers", {"add": ["example.dev/ext"]})
    assert added.body["finalizers"] == ["shelf", "example.dev/ext"]
    assert (await notes.delete("/resources/1")).body == {"message": "Resource marked for deletion", "resource_id": 1}
    left = await eventually(
        lambda: notes.get("/resources/1"), lambda each: each.body["finalizers"] == ["example.dev/ext"]
    )
    assert (left.body["status"], left.body["deleted_at"][-1]) == ("deleting", "Z")
    assert shelf.things == {}
    assert [each["id"] for each in (await notes.get("/resources?status=deleting")).body] == [1]
    assert (await notes.delete("/resources/1")).status == 202
    gone = await notes.put("/resources/1/finalizers", {"remove": ["example.dev/ext"]})
    assert gone.body == {"message": "All finalizers removed, resource deleted", "resource_id": 1}
    await notes.is_gone(1)


async def test_a_destruction_that_fails_is_tried_again(notes: Api, shelf: World) -> None:
    await notes.made("/resources", note("one"))
    await notes.becomes(1, "ready")
    shelf.trouble = "it is stuck"
    await notes.delete("/resources/1")
    answer = await eventually(lambda: notes.get("/resources/1"), lambda each: each.body["retry_count"] == 1)
    assert (answer.body["status"], answer.body["finalizers"]) == ("deleting", ["shelf"])
    assert answer.body["status_message"] == "Broken: it is stuck"
    shelf.trouble = ""
    assert (await notes.post("/resources/1/reconcile")).status == 202
    await notes.is_gone(1)


async def test_lists_are_newest_first_filtered_and_paged(notes: Api, shelf: World) -> None:
    for at in range(1, 6):
        await notes.made("/resources", note(f"n{at}"))
    await notes.becomes(5, "ready")
    shelf.trouble = "no room"
    await notes.made("/resources", note("n6"))
    await notes.becomes(6, "failed")
    every = await notes.get("/resources")
    assert [each["id"] for each in every.body] == [6, 5, 4, 3, 2, 1]
    assert "Link" not in every.headers
    assert [each["id"] for each in (await notes.get("/resources?status=failed")).body] == [6]
    assert (await notes.get("/resources?action_plugin=http")).body == []
    assert len((await notes.get("/resources?action_plugin=shelf&resource_type_name=Note")).body) == 6
    seen, path = [], "/resources?limit=4"
    while path:
        page = await notes.get(path)
        seen += [each["id"] for each in page.body]
        link = page.headers.get("Link", "")
        path = link.partition(">")[0].removeprefix("<")
    assert seen == [6, 5, 4, 3, 2, 1]
    assert (await notes.get("/resources?limit=0")).status == 422
    assert (await notes.get("/resources?limit=x")).status == 422
    assert (await notes.get("/resources?limit=5000")).status == 200


async def test_a_page_ends_where_its_resources_are_large(notes: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    for at in range(1, 4):
        await notes.made("/resources", note(f"n{at}", "x" * 1_000_000))
    monkeypatch.setattr("homeostat.web.actions.pages.resources.LARGEST_PAGE_BYTES", 2_500_000)
    pages, path = [], "/resources"
    while path:
        page = await notes.get(path)
        pages.append([(each["id"], len(each["spec"]["text"])) for each in page.body])
        path = page.headers.get("Link", "").partition(">")[0].removeprefix("<")
    assert pages == [[(3, 1_000_000), (2, 1_000_000)], [(1, 1_000_000)]]


async def test_what_is_not_there_is_reported_in_detail(notes: Api) -> None:
    for method, path, status in MISSING:
        answer = await notes.call(method, path)
        assert (answer.status, "detail" in answer.body) == (status, True), path


async def test_refusals_have_the_number_of_the_request(notes: Api) -> None:
    answer = await notes.get("/resources/7", X_Request_Id="abc-1")
    assert (answer.body["request_id"], answer.headers["X-Request-Id"]) == ("abc-1", "abc-1")
    other = await notes.get("/resources/7", X_Request_Id="not a number\t")
    assert len(other.body["request_id"]) == 32


async def test_what_kubectl_makes_is_there_and_what_is_made_here_is_for_kubectl(notes: Api, client: Client) -> None:
    made = {"apiVersion": "resources.homeostat.dev/v1", "kind": "Note", "metadata": {"name": "made"}}
    await client.create(NOTES, {**made, "spec": {"text": "x"}, "action": {"plugin": "shelf"}})
    (found,) = (await eventually(lambda: notes.get("/resources"), lambda each: len(each.body) == 1)).body
    assert (found["id"], found["name"], found["action_plugin"]) == (1, "made", "shelf")
    await notes.becomes(1, "ready")
    assert (await notes.made("/resources", note("two")))["id"] == 2
    assert (await client.get(f"{NOTES}/two"))["spec"] == {"text": "hello", "size": 3}

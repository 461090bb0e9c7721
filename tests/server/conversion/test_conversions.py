"""Custom objects whose versions a webhook converts, through a plane; `tests/differential` compares the answers."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from homeostat.server.conversion import conversions
from homeostat.server.conversion.conversion import Conversion
from homeostat.server.conversion.conversions import MOST_REVIEWED, MOST_WAITING
from homeostat.server.verbs import backlog
from tests.api.conftest import APPLY, MERGE_PATCH, Api, noting_threads
from tests.api.objects import CONFIGMAPS, CRDS, configmap
from tests.differential.conversions import NAME, definition, one, two
from tests.differential.mutations import BINDINGS as MUTATION_BINDINGS
from tests.differential.mutations import POLICIES as MUTATIONS
from tests.differential.mutations import binding as mutating_binding
from tests.differential.mutations import merged
from tests.differential.mutations import policy as mutating_policy
from tests.server.admission.hooks import BINDINGS, MUTATING, POLICIES, Hooks, binding, configuration, patch, policy
from tests.server.conversion.conftest import Webhook

V1 = "/apis/example.com/v1/namespaces/default/tables"
V2 = "/apis/example.com/v2/namespaces/default/tables"
RULE = {"operations": ["*"], "apiGroups": ["example.com"], "apiVersions": ["v1"], "resources": ["tables"]}


async def create(api: Api, *names: str, **metadata: Any) -> None:
    for start in range(0, len(names), 100):
        some = names[start : start + 100]
        await asyncio.gather(*(api("POST", V1, one(name, **metadata)) for name in some))


def widths(items: list[dict[str, Any]]) -> list[tuple[str, int]]:
    return [(each["metadata"]["name"], each["spec"]["dimensions"]["width"]) for each in items]


async def test_a_list_is_converted_in_few_reviews_and_only_once(api: Api, webhook: Webhook) -> None:
    names = [f"t{index:04}" for index in range(MOST_REVIEWED + 50)]
    await create(api, *names)
    assert webhook.reviews == []
    first, second = await asyncio.gather(api("GET", V2), api("GET", V2))
    assert widths(first.json["items"]) == [(name, 1) for name in names]
    assert second.json == first.json
    assert sorted(len(names) for _, names in webhook.reviews) == [50, MOST_REVIEWED]
    assert (await api("GET", V2, limit=1)).json["items"] == first.json["items"][:1]
    assert (await api("GET", f"{V2}/t0007")).json["spec"] == {"color": "red", "dimensions": {"width": 1}}
    assert len(webhook.reviews) == 2


async def test_an_object_that_changed_is_converted_again(api: Api, webhook: Webhook) -> None:
    await create(api, "a", "b")
    await api("GET", V2)
    await api("PATCH", f"{V1}/a", {"spec": {"size": 5}}, type=MERGE_PATCH)
    assert widths((await api("GET", V2)).json["items"]) == [("a", 5), ("b", 1)]
    assert webhook.converted[2:] == ["v2 a"]


async def test_a_change_is_converted_once_for_all_watches(api: Api, webhook: Webhook) -> None:
    await create(api, "a")
    watches = [await api.watch(V2, labelSelector="!none" if index % 2 else "") for index in range(100)]
    assert {(await watch.next())[1]["spec"]["dimensions"]["width"] for watch in watches} == {1}
    await api("PATCH", f"{V1}/a", {"spec": {"size": 2}}, type=MERGE_PATCH)
    await api("DELETE", f"{V1}/a")
    for expected in (("MODIFIED", 2), ("DELETED", 2)):
        events = [await watch.next() for watch in watches]
        assert {(change, obj["spec"]["dimensions"]["width"]) for change, obj in events} == {expected}
    assert webhook.converted == ["v2 a"] * 3


async def test_a_watch_from_a_revision_converts_what_happened_since(api: Api, webhook: Webhook) -> None:
    await create(api, "a")
    since = (await api("GET", V1)).json["metadata"]["resourceVersion"]
    for size in (2, 3):
        await api("PATCH", f"{V1}/a", {"spec": {"size": size}}, type=MERGE_PATCH)
    watch = await api.watch(V2, resourceVersion=since)
    assert [widths([(await watch.next())[1]]) for _ in range(2)] == [[("a", 2)], [("a", 3)]]


async def test_events_keep_their_order_while_the_webhook_is_slow(api: Api, webhook: Webhook) -> None:
    watch = await api.watch(V2, resourceVersion=(await api("GET", V1)).json["metadata"]["resourceVersion"])
    webhook.goes_on.clear()
    await create(api, "a")
    await asyncio.wait_for(webhook.arrived.wait(), 10)
    await create(api, "b", "c")
    await api("DELETE", f"{V1}/a")
    webhook.goes_on.set()
    events = [await watch.next() for _ in range(4)]
    found = [(change, obj["metadata"]["name"]) for change, obj in events]
    assert found[0] == ("ADDED", "a")
    assert sorted(found[1:3]) == [("ADDED", "b"), ("ADDED", "c")]
    assert found[3] == ("DELETED", "a")


@pytest.mark.parametrize(("limit", "most"), [("MOST_EVENTS", 3), ("MOST_BYTES", 30_000)])
async def test_a_watch_with_too_much_to_convert_ends(
    api: Api, webhook: Webhook, monkeypatch: pytest.MonkeyPatch, limit: str, most: int
) -> None:
    monkeypatch.setattr(backlog, limit, most)
    watch = await api.watch(V2, resourceVersion=(await api("GET", V1)).json["metadata"]["resourceVersion"])
    webhook.goes_on.clear()
    await create(api, "a", "b", "c", "d", annotations={"note": "x" * 10_000})
    assert await watch.ends()


async def test_a_selector_sees_the_labels_of_its_version(api: Api, webhook: Webhook) -> None:
    watch = await api.watch(V2, labelSelector="width=big")
    await create(api, "a", labels={"size": "big"})
    change, obj = await watch.next()
    assert (change, obj["metadata"]["labels"]) == ("ADDED", {"width": "big"})
    assert len((await api("GET", V2, labelSelector="width=big")).json["items"]) == 1
    assert (await api("GET", V1, labelSelector="width=big")).json["items"] == []
    await api("PATCH", f"{V1}/a", {"metadata": {"labels": {"size": "small"}}}, type=MERGE_PATCH)
    change, obj = await watch.next()
    assert (change, obj["metadata"]["labels"]) == ("DELETED", {"width": "big"})


async def test_a_failed_conversion_ends_the_watch_with_its_error(api: Api, webhook: Webhook) -> None:
    watch = await api.watch(V2)
    webhook.failure = "no such colour"
    await create(api, "a")
    change, status = await watch.next()
    message = "conversion webhook for example.com/v1, Kind=Table failed: no such colour"
    assert (change, status["message"], status["code"]) == ("ERROR", message, 500)
    assert await watch.ends()
    listed = await api("GET", V2)
    assert (listed.status, listed.json["message"]) == (500, message)
    webhook.failure = ""
    assert (await api("GET", V2)).status == 200


async def test_the_stored_version_is_written_while_the_webhook_fails(api: Api, webhook: Webhook) -> None:
    await api("POST", V2, two("a", 3))
    webhook.failure = "no such colour"
    changed = await api("PATCH", f"{V1}/a", {"spec": {"size": 4}}, type=MERGE_PATCH)
    assert (changed.status, changed.json["spec"]["size"]) == (200, 4)
    assert "managedFields" not in changed.json["metadata"]
    applied = await api("PATCH", f"{V1}/a", one("a", 4), type=APPLY, fieldManager="m")
    assert applied.status == 200
    assert (await api("PATCH", f"{V2}/a", {}, type=MERGE_PATCH)).status == 500


async def test_a_hanging_webhook_holds_up_nobody_else(api: Api, webhook: Webhook) -> None:
    await create(api, "a")
    webhook.goes_on.clear()
    waiting = [asyncio.ensure_future(api("GET", V2)) for _ in range(MOST_WAITING)]
    await asyncio.wait_for(webhook.arrived.wait(), 10)
    refused = await api("GET", V2)
    assert (refused.status, refused.headers["retry-after"]) == (429, ["1"])
    assert (await api("POST", V2, two("b"))).status == 429
    assert (await api("GET", f"{V1}/a")).status == 200
    assert (await api("POST", CONFIGMAPS, configmap())).status == 201
    assert len(webhook.reviews) == 1
    webhook.goes_on.set()
    assert {(await each).status for each in waiting} == {200}
    assert (await api("POST", V2, two("b"))).status == 201


async def test_an_object_keeps_its_stored_version_until_it_is_written(api: Api, webhook: Webhook) -> None:
    await create(api, "a", "b")
    changed = definition(webhook.conversion())["spec"]
    for version in changed["versions"]:
        version["storage"] = version["name"] == "v2"
    written = await api("PATCH", f"{CRDS}/{NAME}", {"spec": changed}, type=MERGE_PATCH)
    assert written.json["status"]["storedVersions"] == ["v1", "v2"]
    assert widths((await api("GET", V2)).json["items"]) == [("a", 1), ("b", 1)]
    assert webhook.converted == ["v2 a", "v2 b"]
    assert (await api("PATCH", f"{V2}/a", {}, type=MERGE_PATCH)).status == 200
    webhook.reviews.clear()
    assert (await api("GET", f"{V1}/a")).json["spec"] == {"color": "red", "size": 1}
    assert (await api("GET", f"{V1}/b")).json["spec"] == {"color": "red", "size": 1}
    assert webhook.converted == ["v1 a"]
    alone = {"spec": {"versions": changed["versions"][1:], "conversion": {"strategy": "None", "webhook": None}}}
    refused = await api("PATCH", f"{CRDS}/{NAME}", alone, type=MERGE_PATCH)
    assert refused.json["details"]["causes"][0]["field"] == "status.storedVersions[0]"
    assert (await api("PATCH", f"{V2}/b", {}, type=MERGE_PATCH)).status == 200
    await api("PATCH", f"{CRDS}/{NAME}/status", {"status": {"storedVersions": ["v2"]}}, type=MERGE_PATCH)
    assert (await api("PATCH", f"{CRDS}/{NAME}", alone, type=MERGE_PATCH)).status == 200
    assert widths((await api("GET", V2)).json["items"]) == [("a", 1), ("b", 1)]


async def test_another_webhook_ends_the_watches_of_the_kind(api: Api, webhook: Webhook) -> None:
    watch = await api.watch(V2)
    status = {"status": {"conditions": [{"type": "Known", "status": "True", "reason": "Test", "message": ""}]}}
    assert (await api("PATCH", f"{CRDS}/{NAME}/status", status, type=MERGE_PATCH)).status == 200
    await create(api, "a")
    assert (await watch.next())[0] == "ADDED"
    config = {"clientConfig": {"url": "https://localhost:1/gone"}}
    await api("PATCH", f"{CRDS}/{NAME}", {"spec": {"conversion": {"webhook": config}}}, type=MERGE_PATCH)
    assert await watch.ends()


async def test_a_large_object_is_converted_too(api: Api, webhook: Webhook) -> None:
    text = "x" * 300_000
    assert (await api("POST", V2, two("a", 3, color=text))).status == 201
    applied = await api("PATCH", f"{V1}/a", one("a", 4), type=APPLY, fieldManager="m", force="true")
    assert applied.json["spec"] == {"color": text, "size": 4}
    assert (await api("GET", f"{V2}/a")).json["spec"] == {"color": text, "dimensions": {"width": 4}}


async def test_a_large_object_is_completed_and_encoded_in_a_thread(
    api: Api, webhook: Webhook, monkeypatch: pytest.MonkeyPatch
) -> None:
    completed = noting_threads(monkeypatch, Conversion, "complete")
    encoded = noting_threads(monkeypatch, conversions, "draft_of")
    for number, (size, is_on_loop) in enumerate([(10, True), (100_000, False)]):
        completed.clear()
        encoded.clear()
        table = two(f"t{number}")
        table["metadata"]["annotations"] = {"text": "x" * size}
        assert (await api("POST", V2, table)).status == 201
        assert completed == encoded == {is_on_loop}, "a webhook may make megabytes of it"


async def test_admission_sees_the_version_that_it_asked_for(api: Api, webhook: Webhook, hooks: Hooks) -> None:
    resize = patch({"op": "replace", "path": "/spec/size", "value": 7})
    await api("POST", MUTATING, configuration(hooks.webhook("/size", resize, rules=[RULE])))
    limit = {"expression": "object.spec.size < 9", "message": "too large"}
    await api("POST", POLICIES, policy(limit, matchConstraints={"resourceRules": [RULE]}))
    await api("POST", BINDINGS, binding())
    created = await api("POST", V2, two("a", 3))
    assert created.json["spec"]["dimensions"] == {"width": 7}
    assert hooks.seen[0][1]["object"]["spec"]["size"] == 3
    hooks.on("/size", patch({"op": "replace", "path": "/spec/size", "value": 9}))
    refused = await api("PATCH", f"{V2}/a", {"spec": {"color": "blue"}}, type=MERGE_PATCH)
    assert (refused.status, "too large" in refused.json["message"]) == (422, True)


async def test_a_policy_changes_a_scale_and_no_deletion_of_a_converted_kind(api: Api, webhook: Webhook) -> None:
    await create(api, "a")
    for name in ("p1", "p2"):
        await api("POST", CONFIGMAPS, configmap(name, metadata={"labels": {"parameter": "yes"}}))
    every = {"apiGroups": ["example.com"], "apiVersions": ["v1"], "operations": ["*"], "resources": ["*/*"]}
    limited = (
        "has(object.spec.replicas) && object.spec.replicas > 3 ? Object{spec: Object.spec{replicas: 3}} : Object{}"
    )
    await api(
        "POST",
        MUTATIONS,
        mutating_policy(
            "limit",
            merged(limited),
            matchConstraints={"resourceRules": [every]},
            paramKind={"apiVersion": "v1", "kind": "ConfigMap"},
        ),
    )
    selector = {"matchLabels": {"parameter": "yes"}}
    ref = {"selector": selector, "namespace": "default", "parameterNotFoundAction": "Deny"}
    assert (await api("POST", MUTATION_BINDINGS, mutating_binding("limit", paramRef=ref))).status == 201
    scaled = await api("PATCH", f"{V2}/a/scale", {"spec": {"replicas": 9}}, type=MERGE_PATCH)
    assert (scaled.status, scaled.json["spec"]) == (200, {"replicas": 3})
    assert (await api("GET", f"{V1}/a")).json["spec"]["size"] == 3
    assert [(await api("DELETE", f"{each}/a", dryRun="All")).status for each in (V1, V2)] == [200, 200]
    assert webhook.agents == {"homeostat"}

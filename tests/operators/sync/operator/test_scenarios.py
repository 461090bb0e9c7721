"""The operator from commit to server, on a plane and on a real API server."""

from __future__ import annotations

import asyncio

from homeostat.objects.json import JsonObject
from homeostat.operators.sync.api.parts import LONGEST_TEXT
from homeostat.operators.sync.api.policy import PLAN_REQUESTED, SYNC_POLICY
from homeostat.operators.sync.api.store import SECRET_STORE
from tests.operators.sync.operator.stage import PASSWORD, TOKEN, Stage, operating, ready_of


def customer(name: str, tier: str = "gold") -> str:
    return f'{{"id": "{name}", "tier": "{tier}"}}'


async def test_commits_create_update_and_prune_and_drift_is_corrected(stage: Stage) -> None:
    first = stage.origin.commit(
        {
            "customers/acme/resource.json": customer("acme"),
            "customers/bravo/resource.yaml": "id: bravo\ntier: silver\n",
            "customers/_/metadata.yaml": "resource: {format: json}\n",
        }
    )
    await stage.call("PUT", "/_/objects/customers/foreign", {"id": "foreign"})
    async with operating(stage):
        await stage.declare()
        status = await stage.synced(first)
        assert await stage.objects() == {
            "/customers/foreign": {"id": "foreign"},
            "/customers/acme": {"id": "acme", "tier": "gold"},
            "/customers/bravo": {"id": "bravo", "tier": "silver"},
        }
        assert status["resourceStats"] == {"targeted": 2, "applied": 2}
        assert status["lastSyncMode"] == "full"
        assert ready_of(status) == ("True", "Ready", "sync successful")
        kinds = {each["type"]: each["status"] for each in status["conditions"]}
        assert kinds == {"Ready": "True", "Stalled": "False", "Reconciling": "False", "Conflicting": "False"}

        second = await stage.push({"customers/acme/resource.json": customer("acme", "platinum")})
        status = await stage.synced(second)
        assert status["lastSyncMode"] == "incremental"
        assert status["resourceStats"] == {"targeted": 1, "applied": 1}
        assert (await stage.objects())["/customers/acme"]["tier"] == "platinum"

        third = await stage.push({}, "customers/bravo/resource.yaml")
        status = await stage.synced(third)
        assert status["resourceStats"] == {"pruned": 1}
        assert set(await stage.objects()) == {"/customers/foreign", "/customers/acme"}

        await stage.call("PUT", "/_/objects/customers/acme", {"id": "acme", "tier": "by hand"})
        await stage.apply("SyncPolicy", "customers", stage.policy(syncInterval="1s"))
        await stage.stored("/customers/acme", {"id": "acme", "tier": "platinum"})
        await stage.until(lambda status: status["lastTrigger"] == "interval")
        await stage.call("PUT", "/_/objects/customers/acme", {"id": "acme", "tier": "by hand"})
        await stage.stored("/customers/acme", {"id": "acme", "tier": "platinum"})
        text, events = str(await stage.get("SyncPolicy", "customers")), await stage.events()
        assert ("RevisionChanged", f"new revision: {second}") in events
        assert any(
            message == f"sync completed at revision {second} (mode=incremental applied=1 pruned=0 targeted=1)"
            for reason, message in events
            if reason == "SyncSucceeded"
        )
        assert TOKEN not in text + str(events)
        assert PASSWORD not in text + str(events)
        metrics, where = stage.metrics(), f'namespace="{stage.namespace}"'
        for line in (
            f'resource_repository_poll_total{{name="declared",{where},result="success"}} 3.0',
            f'resource_repository_revision_changes_total{{name="declared",{where}}} 3.0',
            f'syncpolicy_resources_pruned_total{{name="customers",{where}}} 1.0',
            f'syncpolicy_reconcile_duration_seconds_count{{name="customers",{where},result="success"}}',
            f'syncpolicy_reconcile_total{{name="customers",{where},reason="Ready",result="success"}}',
        ):
            assert f"declarest_operator_{line}" in metrics


async def test_one_failing_resource_stops_no_other_and_is_retried(stage: Stage) -> None:
    await asyncio.sleep(0)
    revision = stage.origin.commit({f"customers/{each}/resource.json": customer(each) for each in ("a", "b", "c")})
    fault = {"method": "POST", "path": "/customers", "status": 422, "times": 1, "body": f'{{"seen": "{TOKEN}"}}'}
    await stage.call("PUT", "/_/faults", [fault])
    async with operating(stage):
        await stage.declare()
        status = await stage.until(lambda status: bool(status.get("failure")))
        assert status["resourceStats"] == {"targeted": 3, "applied": 2, "failed": 1}
        assert [each["result"] for each in status["resources"]] == ["failed", "created", "created"]
        assert TOKEN not in str(status)
        status = await stage.synced(revision)
        assert "failure" not in status
        assert len(await stage.objects()) == 3


async def test_nothing_is_deleted_that_holds_declared_objects_or_is_behind_a_link(stage: Stage) -> None:
    order = "customers/acme/orders/one/resource.json"
    names = ("acme", "bravo", "delta")
    await stage.call("PUT", "/_/objects/customers/foreign", {"id": "foreign"})
    first = stage.origin.commit(
        {order: '{"id": "one"}', **{f"customers/{each}/resource.json": customer(each) for each in names}}
    )
    async with operating(stage):
        await stage.declare()
        await stage.synced(first)
        kept = {f"/customers/{each}" for each in (*names, "foreign", "acme/orders/one")}
        assert set(await stage.objects()) == kept
        second = await stage.push({}, "customers/acme/resource.json")
        status = await stage.until(
            lambda status: status.get("lastAttemptedRepoRevision") == second and "held" in status
        )
        assert "declared or held" in status["heldMessage"]
        link = stage.origin.path / "customers/bravo/resource.json"
        link.unlink()
        link.symlink_to("/etc/hostname")
        await stage.push({}, order, "customers/delta/resource.json")
        await stage.until(lambda status: status.get("resourceStats", {}).get("pruned") == 3)
        await stage.apply("SyncPolicy", "customers", stage.policy(syncInterval="2h"))
        status = await stage.until(lambda status: status["lastSyncMode"] == "full" and status.get("held") == 1)
        assert "links are not followed" in status["heldMessage"]
        assert set(await stage.objects()) == {"/customers/foreign", "/customers/bravo"}


async def test_secrets_dependencies_requests_and_other_policies_wake_a_policy(stage: Stage) -> None:
    revision = stage.origin.commit({"customers/acme/resource.json": customer("acme")})
    await stage.call("PUT", "/_/auth", {"bearer": "another-token"})
    async with operating(stage):
        await stage.declare(source={"path": "${REGION}"})
        await stage.until(lambda status: ready_of(status)[1] == "ReconcileFailed")
        await stage.secret("server", token="another-token")
        await stage.synced(revision)

        await stage.apply("ManagedServer", "api", stage.server(defaultHeaders={"X-Region": "north"}))
        await stage.until(lambda status: status["lastTrigger"] == "dependency changed")
        await stage.annotate("SyncPolicy", "customers", **{"declarest.io/reconcile-requested-at": "1"})
        await stage.until(lambda status: status["lastTrigger"] == "request")
        assert (await stage.call("GET", "/_/requests"))[-1]["headers"]["X-Region"] == "north"

        await stage.apply("SyncPolicy", "narrow", stage.policy(source={"path": "/customers/acme"}))
        await stage.until(lambda status: ready_of(status)[1] == "OverlappingPolicy", name="narrow")
        await stage.apply("SyncPolicy", "customers", stage.policy(suspend=True, source={"path": "/other"}))
        await stage.until(lambda status: ready_of(status)[1] == "Suspended")
        await stage.until(lambda status: ready_of(status)[0] == "True", name="narrow")

        await stage.client.delete(SECRET_STORE.kind.path(stage.namespace, "store"))
        await stage.until(lambda status: ready_of(status)[1] == "DependencyInvalid", name="narrow")


async def test_observe_reports_drift_and_changes_nothing(stage: Stage) -> None:
    stage.origin.commit({"customers/acme/resource.json": customer("acme")})
    await stage.call("PUT", "/_/objects/customers/acme", {"id": "acme", "tier": "by hand"})
    async with operating(stage):
        await stage.declare(sync={"mode": "observe"})
        status = await stage.until(lambda status: ready_of(status)[0] == "True")
        assert status["drifted"] == status["held"] == 1
        (ready,) = (each for each in status["conditions"] if each["type"] == "Ready")
        assert ready["message"].endswith("1 resource differs; mode is observe")
        assert status["resources"] == [
            {
                "path": "/customers/acme",
                "result": "held",
                "message": "mode is observe",
                "fields": ["/tier"],
                "changes": [{"pointer": "/tier", "declared": '"gold"', "live": '"by hand"'}],
            }
        ]
        assert "lastAppliedRepoRevision" not in status
        (record,) = status["history"]
        assert (record["held"], "updated" in record) == (1, False)
        assert (await stage.objects())["/customers/acme"]["tier"] == "by hand"
        said = [message for reason, message in await stage.events() if reason == "SyncSucceeded"]
        assert all("applied" not in each for each in said)
        assert said[0].endswith("(mode=full differing=1 targeted=1): would change /customers/acme")

        await stage.apply("SyncPolicy", "customers", stage.policy(sync={"mode": "enforce"}))
        status = await stage.until(lambda status: status["lastTrigger"] == "policy changed")
        assert status["history"][0]["updated"] == 1
        assert status["drifted"] == 0, "what a sync has changed differs no longer"


async def test_a_plan_on_request_is_fresh_and_changes_nothing(stage: Stage) -> None:
    revision = stage.origin.commit({"customers/acme/resource.json": customer("acme")})
    path = SYNC_POLICY.kind.path(stage.namespace, "customers")

    async def plan(request: str) -> JsonObject:
        await stage.client.merge(path, {"metadata": {"annotations": {PLAN_REQUESTED: request}}})
        status = await stage.until(lambda status: status.get("plan", {}).get("request") == request[:LONGEST_TEXT])
        return {key: value for key, value in status["plan"].items() if key not in ("time", "request")}

    async with operating(stage):
        await stage.declare()
        status = await stage.synced(revision)
        (record,) = status["history"]
        assert (record["revision"], record["trigger"], record["created"]) == (revision, "first sync", 1)
        # Whatever somebody annotates: the status keeps the first characters.
        assert await plan("1" * 5000) == {"revision": revision, "unchanged": 1}
        await stage.call("PUT", "/_/objects/customers/acme", {"id": "acme", "tier": "by hand"})
        drifted = {
            "path": "/customers/acme",
            "result": "update",
            "fields": ["/tier"],
            "changes": [{"pointer": "/tier", "declared": '"gold"', "live": '"by hand"'}],
        }
        assert await plan("2") == {"revision": revision, "resources": [drifted]}
        assert (await stage.objects())["/customers/acme"]["tier"] == "by hand"
        await stage.client.merge(path, {"spec": {"suspend": True}})
        assert await plan("3") == {"revision": revision, "resources": [drifted]}
        assert (await stage.objects())["/customers/acme"]["tier"] == "by hand"
        await stage.client.merge(path, {"spec": {"suspend": False}})
        await stage.stored("/customers/acme", {"id": "acme", "tier": "gold"})
        status = await stage.until(lambda status: len(status["history"]) == 2)
        assert (status["history"][0]["trigger"], status["history"][0]["updated"]) == ("policy changed", 1)

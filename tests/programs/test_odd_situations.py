"""Where simulated controllers and the real ones might differ: half-way, at limits, and after what nobody expects."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

from homeostat.objects.json import JsonObject
from homeostat.objects.time.timestamp import format_time
from tests.programs.running import wait_until
from tests.programs.sides import OUTCOME, Side, assert_same, image, is_rolled_out, template, workload

_SETTLED_S = 1.0
"""How long both sides get for what they should not do."""


def deployment(**spec: Any) -> JsonObject:
    return workload(**{"replicas": 2, "strategy": rolling(1, 0), **spec})


def rolling(surge: int | str, unavailable: int | str) -> JsonObject:
    return {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": surge, "maxUnavailable": unavailable}}


def failing(outcome: str) -> JsonObject:
    """A template whose Pods have an outcome."""
    found = template("app:2")
    found["metadata"]["annotations"] = {OUTCOME: outcome}
    return found


def progress(reason: str) -> Callable[[JsonObject], bool]:
    def holds(found: JsonObject) -> bool:
        conditions = found["status"].get("conditions", ())
        return any(each["type"] == "Progressing" and each["reason"] == reason for each in conditions)

    return holds


def wait_for_pods(side: Side, count: int, *, ready: int | None = None) -> None:
    def holds() -> bool:
        pods = [each for each in side.read_all("v1", "Pod") if "deletionTimestamp" not in each["metadata"]]
        found = sum(is_ready(each) for each in pods)
        return len(pods) == count and found == (count if ready is None else ready)

    wait_until(holds, f"{count} Pods, {ready} ready, in {side.namespace}")


def is_ready(pod: JsonObject) -> bool:
    found = pod["status"].get("conditions", ())
    return any(each["type"] == "Ready" and each["status"] == "True" for each in found)


def test_a_paused_deployment_is_scaled_and_says_that_it_is_paused(sides: list[Side]) -> None:
    for side in sides:
        side.create("apps/v1", "Deployment", "web", deployment())
    for side in sides:
        side.wait("apps/v1", "Deployment", "web", is_rolled_out(2), "rolled out")
        side.change("apps/v1", "Deployment", "web", {"spec": {"paused": True}})
        side.wait("apps/v1", "Deployment", "web", progress("DeploymentPaused"), "is paused")
    assert_same(sides)
    for side in sides:
        # The new template has no ReplicaSet yet, so the old one is scaled, from nothing too.
        side.change("apps/v1", "Deployment", "web", {"spec": {"replicas": 0, **image("app:2")["spec"]}})
        wait_for_pods(side, 0)
        side.change("apps/v1", "Deployment", "web", {"spec": {"replicas": 3}})
    for side in sides:
        wait_for_pods(side, 3)
    assert_same(sides)
    for side in sides:
        side.change("apps/v1", "Deployment", "web", {"spec": {"paused": False}})
    for side in sides:
        side.wait("apps/v1", "Deployment", "web", is_rolled_out(3), "rolled out")
        side.change("apps/v1", "Deployment", "web", {"spec": {"strategy": rolling(3, 1)}})
    assert_same(sides)


def test_a_deployment_that_makes_no_progress_is_scaled_in_proportion(sides: list[Side]) -> None:
    """After its deadline has passed."""
    for side in sides:
        spec = deployment(replicas=5, strategy=rolling("20%", "30%"), progressDeadlineSeconds=2)
        side.create("apps/v1", "Deployment", "web", spec)
    for side in sides:
        side.wait("apps/v1", "Deployment", "web", is_rolled_out(5), "rolled out")
    # Of ReplicaSets of the same second, their names decide which is the older one.
    time.sleep(1.1)
    for side in sides:
        side.change("apps/v1", "Deployment", "web", {"spec": {"template": failing("never-ready")}})
    for side in sides:
        side.wait("apps/v1", "Deployment", "web", progress("ProgressDeadlineExceeded"), "is late")
    assert_same(sides)
    for size in (8, 3, 7):
        for side in sides:
            side.change("apps/v1", "Deployment", "web", {"spec": {"replicas": size}})
        assert_same(sides)


def test_a_deployment_that_comes_back_finds_its_replica_sets(sides: list[Side]) -> None:
    for side in sides:
        side.create("apps/v1", "Deployment", "web", deployment(revisionHistoryLimit=1))
    for each in ("app:1", "app:2", "app:3"):
        for side in sides:
            side.change("apps/v1", "Deployment", "web", image(each))
            side.wait("apps/v1", "Deployment", "web", is_rolled_out(2), "rolled out")
    assert_same(sides)
    for side in sides:
        side.delete("apps/v1", "Deployment", "web", policy="Orphan")
        wait_until(lambda: not side.read_all("apps/v1", "Deployment"), "the Deployment is gone")  # noqa: B023
        side.create("apps/v1", "Deployment", "web", deployment(template=template("app:3")))
    for side in sides:
        side.wait("apps/v1", "Deployment", "web", is_rolled_out(2), "rolled out")
    assert_same(sides)
    for side in sides:
        # A Pod that does not match any longer is released and replaced.
        pod = side.read_all("v1", "Pod")[0]["metadata"]["name"]
        side.change("v1", "Pod", pod, {"metadata": {"labels": {"app": "other"}}})
    for side in sides:
        wait_for_pods(side, 3)
    assert_same(sides)


def test_the_cheapest_pods_are_deleted_first(sides: list[Side]) -> None:
    cost = "controller.kubernetes.io/pod-deletion-cost"
    for side in sides:
        side.create("apps/v1", "ReplicaSet", "web", workload(replicas=4))
        wait_for_pods(side, 4)
        for number, pod in enumerate(side.read_all("v1", "Pod")):
            given = {"annotations": {cost: str((5, -3, 100, 20)[number])}, "labels": {"number": str(number)}}
            side.change("v1", "Pod", pod["metadata"]["name"], {"metadata": given})
        time.sleep(0.2)
        side.change("apps/v1", "ReplicaSet", "web", {"spec": {"replicas": 2}})
    for side in sides:
        wait_for_pods(side, 2)
        assert {each["metadata"]["labels"]["number"] for each in side.read_all("v1", "Pod")} == {"2", "3"}


def stateful(**spec: Any) -> JsonObject:
    return workload(**{"replicas": 3, "serviceName": "db", **spec})


def test_a_stateful_set_returns_from_a_broken_template(sides: list[Side]) -> None:
    """Before the last Pod is updated: the current revision is the one to return to."""
    for side in sides:
        side.create("apps/v1", "StatefulSet", "db", stateful(podManagementPolicy="Parallel"))
    for side in sides:
        side.wait("apps/v1", "StatefulSet", "db", is_rolled_out(3), "rolled out")
        side.change("apps/v1", "StatefulSet", "db", {"spec": {"template": failing("never-ready")}})
    for side in sides:
        side.wait("apps/v1", "StatefulSet", "db", lambda found: found["status"].get("updatedReplicas") == 1, "half-way")
    assert_same(sides)
    for side in sides:
        back = {**template("app:1"), "metadata": {"annotations": {OUTCOME: None}}}
        side.change("apps/v1", "StatefulSet", "db", {"spec": {"template": back}})
    for side in sides:
        side.wait("apps/v1", "StatefulSet", "db", is_rolled_out(3), "rolled back")
    assert_same(sides)


def test_a_stateful_set_in_order_does_not_shrink_past_two_broken_pods(sides: list[Side]) -> None:
    for side in sides:
        side.create("apps/v1", "StatefulSet", "db", stateful(replicas=4))
    for side in sides:
        side.wait("apps/v1", "StatefulSet", "db", is_rolled_out(4), "rolled out")
        for name in ("db-2", "db-3"):
            side.change("v1", "Pod", name, {"metadata": {"annotations": {OUTCOME: "never-ready"}}})
        wait_for_pods(side, 4, ready=2)
        side.change("apps/v1", "StatefulSet", "db", {"spec": {"replicas": 1}})
    time.sleep(_SETTLED_S)
    assert_same(sides)
    for side in sides:
        assert len(side.read_all("v1", "Pod")) == 4
        side.change("v1", "Pod", "db-2", {"metadata": {"annotations": {OUTCOME: None}}})
    for side in sides:
        wait_for_pods(side, 1)
    assert_same(sides)


def test_a_partition_holds_back_pods_and_not_the_revision_of_none(sides: list[Side]) -> None:
    strategy = {"type": "RollingUpdate", "rollingUpdate": {"partition": 2}}
    for side in sides:
        side.create("apps/v1", "StatefulSet", "db", stateful(updateStrategy=strategy))
    for side in sides:
        side.wait("apps/v1", "StatefulSet", "db", is_rolled_out(3), "rolled out")
        side.change("apps/v1", "StatefulSet", "db", image("app:2"))
    for side in sides:
        side.wait("apps/v1", "StatefulSet", "db", lambda found: found["status"].get("updatedReplicas") == 1, "half-way")
        wait_for_pods(side, 3)
        # It comes back as it was.
        side.delete("v1", "Pod", "db-0")
    for side in sides:
        wait_for_pods(side, 3)
    assert_same(sides)
    for size in (0, 2):
        for side in sides:
            side.change("apps/v1", "StatefulSet", "db", {"spec": {"replicas": size}})
        for side in sides:
            wait_for_pods(side, size)
    assert_same(sides)


def test_claims_go_and_come_back_with_their_pods(sides: list[Side]) -> None:
    claim = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    policy = {"whenDeleted": "Delete", "whenScaled": "Delete"}
    for side in sides:
        for number in range(6):
            volume = {
                "capacity": {"storage": "1Gi"},
                "accessModes": ["ReadWriteOnce"],
                "hostPath": {"path": "/tmp/volume"},
                "storageClassName": side.namespace,
            }
            name = {"name": f"{side.namespace}-{number}"}
            side.plane.ask("POST", "/api/v1/persistentvolumes", {"metadata": name, "spec": volume})
        templates = [{"metadata": {"name": "data"}, "spec": {**claim, "storageClassName": side.namespace}}]
        spec = stateful(replicas=2, volumeClaimTemplates=templates, persistentVolumeClaimRetentionPolicy=policy)
        side.create("apps/v1", "StatefulSet", "db", spec)
    for side in sides:
        side.wait("apps/v1", "StatefulSet", "db", is_rolled_out(2), "rolled out")
    assert_same_claims(sides)
    for size in (1, 2):
        for side in sides:
            side.change("apps/v1", "StatefulSet", "db", {"spec": {"replicas": size}})
            wait_for_pods(side, size)
            wait_until(lambda: len(claims(side)) == size, f"{size} claims in {side.namespace}")  # noqa: B023
    assert_same_claims(sides)
    for side in sides:
        # Both are deleted at once, so the new Pod waits for the end of the old claim.
        before = side.read("v1", "PersistentVolumeClaim", "data-db-1")["metadata"]["uid"]
        side.delete("v1", "PersistentVolumeClaim", "data-db-1")
        side.delete("v1", "Pod", "db-1")
        wait_until(lambda: claims(side).get("data-db-1") not in (None, before), "a new claim")  # noqa: B023
        wait_for_pods(side, 2)
    assert_same_claims(sides)
    for side in sides:
        side.delete("apps/v1", "StatefulSet", "db")
    for side in sides:
        wait_until(lambda: not claims(side), f"no claims in {side.namespace}")  # noqa: B023


def claims(side: Side) -> dict[str, str]:
    """Names and uids."""
    found = (each["metadata"] for each in side.read_all("v1", "PersistentVolumeClaim"))
    return {each["name"]: each["uid"] for each in found if "deletionTimestamp" not in each}


def assert_same_claims(sides: list[Side]) -> None:
    """Who owns them."""

    def owners() -> list[list[JsonObject]]:
        return [[owned(each["metadata"]) for each in side.read_all("v1", "PersistentVolumeClaim")] for side in sides]

    wait_until(lambda: owners()[0] == owners()[1], "the claims are the same", within_s=5.0)


def owned(metadata: JsonObject) -> JsonObject:
    owners = [{**each, "uid": ""} for each in metadata.get("ownerReferences", ())]
    return {"name": metadata["name"], "labels": metadata.get("labels"), "owners": owners}


def job(outcome: str = "", **spec: Any) -> JsonObject:
    pod = template("app:1", restartPolicy="Never")
    pod["metadata"] = {"annotations": {OUTCOME: outcome}} if outcome else {}
    pod["spec"]["containers"][0]["command"] = ["sleep", "3600"] if not outcome else ["true"]
    return {"template": pod, **spec}


def count_active(found: JsonObject) -> int:
    return int(found["status"].get("active", 0))


def test_the_running_pods_of_a_job_that_fails_count_as_failed(sides: list[Side]) -> None:
    for side in sides:
        side.create("batch/v1", "Job", "late", job(parallelism=3, completions=3, activeDeadlineSeconds=2))
        side.create(
            "batch/v1", "Job", "fine", job("succeed", completionMode="Indexed", completions=2, backoffLimitPerIndex=1)
        )
    for side in sides:
        for name in ("late", "fine"):
            wait_until(lambda: len(side.read("batch/v1", "Job", name)["status"].get("conditions", ())) == 2, "ends")  # noqa: B023
    assert_same(sides)


def test_jobs_are_suspended_shrunk_and_resumed(sides: list[Side]) -> None:
    for side in sides:
        side.create("batch/v1", "Job", "plain", job(parallelism=3))
        side.create("batch/v1", "Job", "elastic", job(completionMode="Indexed", completions=4, parallelism=4))
    for side in sides:
        wait_for_pods(side, 7)
    # The oldest ones would go first if age counted, so the last index has to be among them.
    for side in sides:
        side.change("batch/v1", "Job", "elastic", {"spec": {"completions": 2, "parallelism": 2}})
        side.change("batch/v1", "Job", "plain", {"spec": {"parallelism": 1}})
    for side in sides:
        wait_for_pods(side, 3)
    assert_same(sides)
    for paused in (True, False):
        for side in sides:
            for name in ("plain", "elastic"):
                side.change("batch/v1", "Job", name, {"spec": {"suspend": paused}})
        for side in sides:
            wait_for_pods(side, 0 if paused else 3)
        assert_same(sides)


def test_failed_and_deleted_pods_of_jobs_delay_their_successors(sides: list[Side]) -> None:
    """By 10 seconds; where each index has its own limit, the others go on."""
    ignore = {"action": "Ignore", "onExitCodes": {"operator": "In", "values": [1]}}
    for side in sides:
        side.create("batch/v1", "Job", "ignoring", job("fail", podFailurePolicy={"rules": [ignore]}))
        side.create("batch/v1", "Job", "failing", job("fail", completions=2, parallelism=2))
        each = job("fail", completionMode="Indexed", completions=3, parallelism=2, backoffLimitPerIndex=1)
        side.create("batch/v1", "Job", "each", each)
        side.create("batch/v1", "Job", "deleted", job())
    for side in sides:
        wait_until(lambda: "deleted" in running(side), "the Pod runs")  # noqa: B023
        side.delete("v1", "Pod", running(side)["deleted"])
    time.sleep(2 * _SETTLED_S)
    ours, theirs = (pods_by_job(side) for side in sides)
    assert ours == theirs


def running(side: Side) -> dict[str, str]:
    """Names of running Pods by the Job that they are of."""
    pods = [each for each in side.read_all("v1", "Pod") if is_ready(each)]
    return {each["metadata"]["labels"]["job-name"]: each["metadata"]["name"] for each in pods}


def pods_by_job(side: Side) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for pod in side.read_all("v1", "Pod"):
        found.setdefault(pod["metadata"]["labels"]["job-name"], []).append(pod["status"]["phase"])
    return {name: sorted(phases) for name, phases in found.items()}


def test_a_job_that_somebody_starts_from_a_cron_job_does_not_block_it(sides: list[Side]) -> None:
    a_day_ago = format_time(datetime.now(UTC) - timedelta(days=1))
    for side in sides:
        spec = {"schedule": "0 * * * *", "suspend": True, "concurrencyPolicy": "Forbid", "timeZone": "Asia/Tokyo"}
        side.create("batch/v1", "CronJob", "tick", {**spec, "jobTemplate": {"spec": job()}})
        cron = side.read("batch/v1", "CronJob", "tick")["metadata"]
        owner = {"apiVersion": "batch/v1", "kind": "CronJob", "name": "tick", "uid": cron["uid"], "controller": True}
        side.create("batch/v1", "Job", "manual", job(), ownerReferences=[owner])
    for side in sides:
        wait_for_pods(side, 1)
        last = {"status": {"lastScheduleTime": a_day_ago}}
        side.change("batch/v1", "CronJob", "tick", last, part="/status")
        side.change("batch/v1", "CronJob", "tick", {"spec": {"suspend": False}})
    for side in sides:
        wait_for_pods(side, 2)
    assert_same(sides)


def test_a_cron_job_with_a_thousand_missed_times_says_so(sides: list[Side]) -> None:
    a_day_ago = format_time(datetime.now(UTC) - timedelta(days=1))
    for side in sides:
        spec = {"schedule": "*/2 0-23 * * *", "suspend": True, "jobTemplate": {"spec": job("succeed")}}
        side.create("batch/v1", "CronJob", "tick", spec)
        side.change("batch/v1", "CronJob", "tick", {"status": {"lastScheduleTime": a_day_ago}}, part="/status")
        side.change("batch/v1", "CronJob", "tick", {"spec": {"suspend": False}})
    for side in sides:
        wait_until(lambda: side.read("batch/v1", "CronJob", "tick")["status"].get("lastSuccessfulTime"), "is done")  # noqa: B023
    assert_same(sides)


def test_a_budget_says_which_pods_it_cannot_count(sides: list[Side]) -> None:
    for side in sides:
        for app, budget in (("agent", {"maxUnavailable": 1}), ("bare", {"minAvailable": "50%"})):
            spec = {**budget, "selector": {"matchLabels": {"app": app}}}
            side.create("policy/v1", "PodDisruptionBudget", app, spec)
        pod = template("app:1")
        side.create("v1", "Pod", "bare", pod["spec"], labels={"app": "bare"})
        pod["metadata"]["labels"] = {"app": "agent"}
        side.create("apps/v1", "DaemonSet", "agent", {"selector": {"matchLabels": {"app": "agent"}}, "template": pod})
    for side in sides:
        wait_for_pods(side, 4)
    assert_same(sides)


def test_a_daemon_set_replaces_evicted_pods_and_follows_taints(sides: list[Side]) -> None:
    strategy = {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": "50%"}}
    for side in sides:
        side.create("apps/v1", "DaemonSet", "agent", workload(updateStrategy=strategy))
    for side in sides:
        wait_for_pods(side, 3)
        pod = next(each for each in side.read_all("v1", "Pod") if each["spec"]["nodeName"] == "node-1")
        evicted = {"metadata": {"annotations": {OUTCOME: "evicted-memory"}}}
        side.change("v1", "Pod", pod["metadata"]["name"], evicted)
    for side in sides:
        uid = pod["metadata"]["uid"]
        wait_until(lambda: uid not in {each["metadata"]["uid"] for each in side.read_all("v1", "Pod")}, "replaced")  # noqa: B023
        wait_for_pods(side, 3)
    assert_same(sides)
    for side in sides:
        taint = {"key": side.namespace, "value": "", "effect": "NoSchedule"}
        side.plane.ask(
            "PATCH", "/api/v1/nodes/node-2", {"spec": {"taints": [taint]}}, content_type="application/merge-patch+json"
        )
        side.change("apps/v1", "DaemonSet", "agent", image("app:2"))
    for side in sides:
        wait_until(lambda: is_updated(side.read("apps/v1", "DaemonSet", "agent")), f"updated in {side.namespace}")  # noqa: B023
        wait_for_pods(side, 2)
    assert_same(sides)
    for side in sides:
        side.plane.ask(
            "PATCH", "/api/v1/nodes/node-2", {"spec": {"taints": None}}, content_type="application/merge-patch+json"
        )
    for side in sides:
        wait_for_pods(side, 3)
    assert_same(sides)


def is_updated(found: JsonObject) -> bool:
    status = found["status"]
    return bool(
        status.get("updatedNumberScheduled") == status["desiredNumberScheduled"] == status.get("numberAvailable") == 2
    )

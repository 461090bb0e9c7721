"""Simulated workloads against kube-controller-manager and kube-scheduler: from the same manifests the same objects."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest

from homeostat.objects.json import JsonObject
from homeostat.objects.time.timestamp import format_time
from tests.programs.running import wait_until
from tests.programs.sides import OUTCOME, Side, assert_same, image, is_rolled_out, path_of, template, workload


def test_a_deployment_rolls_out_scales_and_rolls_back(sides: list[Side]) -> None:
    service = {"clusterIP": "10.0.0.7", "selector": {"app": "web"}, "ports": [{"port": 80, "targetPort": "web"}]}
    rolling = {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}}
    budget = {"minAvailable": 1, "selector": {"matchLabels": {"app": "web"}}}
    for side in sides:
        side.create("v1", "Service", "web", service)
        side.create("apps/v1", "Deployment", "web", workload(replicas=2, strategy=rolling))
    for step, count in (
        ({}, 2),
        (image("app:2"), 2),
        ({"spec": {"replicas": 3}}, 3),
        (image("app:1"), 3),
    ):
        for side in sides:
            side.change("apps/v1", "Deployment", "web", step)
        for side in sides:
            side.wait("apps/v1", "Deployment", "web", is_rolled_out(count), f"rolled out {count}")
    for side in sides:
        side.create("policy/v1", "PodDisruptionBudget", "web", budget)
    assert_same(sides)


def test_stateful_sets_come_in_order_or_in_parallel(sides: list[Side]) -> None:
    for side in sides:
        side.create("v1", "Service", "db", {"clusterIP": "None", "selector": {"app": "web"}, "ports": [{"port": 80}]})
        side.create("apps/v1", "StatefulSet", "ordered", workload(replicas=2, serviceName="db"), annotations={"a": "b"})
        side.create(
            "apps/v1",
            "StatefulSet",
            "parallel",
            workload(replicas=2, serviceName="db", podManagementPolicy="Parallel"),
        )
    for step in ({}, image("app:2")):
        for name in ("ordered", "parallel"):
            for side in sides:
                side.change("apps/v1", "StatefulSet", name, step)
            for side in sides:
                side.wait("apps/v1", "StatefulSet", name, is_rolled_out(2), "rolled out")
    assert_same(sides)


def is_everywhere(found: JsonObject) -> bool:
    names = ("desiredNumberScheduled", "currentNumberScheduled", "updatedNumberScheduled", "numberAvailable")
    return all(found["status"].get(name) == 3 for name in names)


@pytest.mark.parametrize(
    "rolling", [{"maxUnavailable": 1}, {"maxSurge": 1, "maxUnavailable": 0}], ids=["plain", "surge"]
)
def test_a_daemon_set_runs_on_every_node(sides: list[Side], rolling: JsonObject) -> None:
    strategy = {"type": "RollingUpdate", "rollingUpdate": rolling}
    for side in sides:
        side.create("apps/v1", "DaemonSet", "agent", workload(updateStrategy=strategy))
    for step in ({}, image("app:2")):
        for side in sides:
            side.change("apps/v1", "DaemonSet", "agent", step)
        for side in sides:
            side.wait("apps/v1", "DaemonSet", "agent", is_everywhere, "everywhere")
    assert_same(sides)


def test_a_daemon_set_surges_beside_pods_that_stay_until_the_new_ones_are_ready(sides: list[Side]) -> None:
    """The new Pods never get ready, so both sides stop in the middle of the update."""
    strategy = {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": "60%", "maxUnavailable": 0}}
    never = template("app:2")
    never["spec"]["containers"][0]["readinessProbe"] = {"exec": {"command": ["/bin/false"]}}
    for side in sides:
        side.create("apps/v1", "DaemonSet", "agent", workload(updateStrategy=strategy))
        side.wait("apps/v1", "DaemonSet", "agent", is_everywhere, "everywhere")
    # Of Pods that were created within the same second, chance decides which is the older one that the status counts.
    time.sleep(1.1)
    for side in sides:
        side.change("apps/v1", "DaemonSet", "agent", {"spec": {"template": never}})
    for side in sides:
        wait_until(lambda: len(side.read_all("v1", "Pod")) == 5, f"two Pods surge in {side.namespace}")  # noqa: B023
    assert_same(sides)


def has_condition(kind: str) -> Callable[[JsonObject], bool]:
    def holds(found: JsonObject) -> bool:
        conditions = found["status"].get("conditions", ())
        return any(each["type"] == kind and each["status"] == "True" for each in conditions)

    return holds


def test_jobs_complete_or_fail(sides: list[Side]) -> None:
    once = template("app:1", restartPolicy="Never")
    failing = {**once, "metadata": {"annotations": {OUTCOME: "fail"}}}
    fatal = {"action": "FailJob", "onExitCodes": {"operator": "In", "values": [1]}}
    indexed = {"completions": 2, "parallelism": 2, "completionMode": "Indexed"}
    jobs: dict[str, tuple[JsonObject, str]] = {
        "plain": ({"template": once}, "Complete"),
        "many": ({"template": once, "completions": 3, "parallelism": 2}, "Complete"),
        "indexed": ({"template": once, "completions": 2, "parallelism": 2, "completionMode": "Indexed"}, "Complete"),
        "bad": ({"template": failing, "backoffLimit": 0}, "Failed"),
        "ruled": ({"template": failing, "podFailurePolicy": {"rules": [fatal]}}, "Failed"),
        "each": ({**indexed, "template": failing, "backoffLimitPerIndex": 0}, "Failed"),
        "few": ({**indexed, "template": once, "successPolicy": {"rules": [{"succeededCount": 2}]}}, "Complete"),
    }
    for name, (spec, _) in jobs.items():
        for side in sides:
            side.create("batch/v1", "Job", name, spec)
    for name, (_, end) in jobs.items():
        for side in sides:
            path = f"{path_of('batch/v1', 'Job', side.namespace)}/{name}"
            wait_until(lambda: has_condition(end)({"status": {}, **side.plane.ask("GET", path)}), f"Job {name} {end}")  # noqa: B023
    assert_same(sides)


def test_a_cron_job_starts_the_job_that_it_missed(sides: list[Side]) -> None:
    job = {"spec": {"template": template("app:1", restartPolicy="Never")}}
    a_year_ago = format_time(datetime.now(UTC) - timedelta(days=366))
    for side in sides:
        side.create("batch/v1", "CronJob", "tick", {"schedule": "0 0 1 1 *", "suspend": True, "jobTemplate": job})
        last = {"status": {"lastScheduleTime": a_year_ago}}
        side.change("batch/v1", "CronJob", "tick", last, part="/status")
        side.change("batch/v1", "CronJob", "tick", {"spec": {"suspend": False}})
    for side in sides:
        path = f"{path_of('batch/v1', 'CronJob', side.namespace)}/tick"
        wait_until(lambda: side.plane.ask("GET", path)["status"].get("lastSuccessfulTime"), "the Job is done")  # noqa: B023
    assert_same(sides)


def test_an_autoscaler_follows_the_load(sides: list[Side]) -> None:
    """The real one reads the load from `metrics.k8s.io`.

    Twice the replicas is the most that one step adds. With more, the reason of the second step depends on whether the
    new Pods already count in the second in which it is taken.
    """
    scaled: JsonObject = workload(replicas=2)
    scaled["template"]["spec"]["containers"][0]["resources"] = {"requests": {"cpu": "100m"}}
    use = {"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 50}}}
    reference = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
    scaler = {"scaleTargetRef": reference, "minReplicas": 2, "maxReplicas": 8, "metrics": [use]}
    load = {"simulation.homeostat.dev/load": "cpu=100m"}
    for side in sides:
        side.create("apps/v1", "Deployment", "web", scaled, annotations=load)
    for side in sides:
        side.wait("apps/v1", "Deployment", "web", is_rolled_out(2), "rolled out")
    # What a Pod uses in its first second counts for nothing yet.
    time.sleep(2.1)
    for side in sides:
        side.create("autoscaling/v2", "HorizontalPodAutoscaler", "web", scaler)
    for side in sides:
        wait_for_scale(side, 2)
        side.change("apps/v1", "Deployment", "web", {"metadata": {"annotations": {next(iter(load)): "cpu=200m"}}})
    for side in sides:
        wait_for_scale(side, 4)
        side.wait("apps/v1", "Deployment", "web", is_rolled_out(4), "scaled to 4")
    assert_same(sides)


def wait_for_scale(side: Side, count: int) -> None:
    path = f"{path_of('autoscaling/v2', 'HorizontalPodAutoscaler', side.namespace)}/web"

    def holds() -> bool:
        status = side.plane.ask("GET", path).get("status", {})
        current = [each.get("resource", {}).get("current", {}) for each in status.get("currentMetrics") or ()]
        return status.get("currentReplicas") == count and [each.get("averageUtilization") for each in current] == [50]

    wait_until(holds, f"the autoscaler sees {count} replicas at 50% in {side.namespace}")


def test_pods_are_apart_and_spread_as_they_must_be(sides: list[Side]) -> None:
    """Four Pods that want to be apart on three Nodes, and six that are spread over them."""
    selector = {"matchLabels": {"app": "web"}}
    term = {"labelSelector": selector, "topologyKey": "kubernetes.io/hostname"}
    apart = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    even = {**term, "maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule"}
    lonely = {"selector": selector, "template": template("app:1", affinity=apart), "replicas": 4}
    spread = template("app:1", topologySpreadConstraints=[{**even, "labelSelector": {"matchLabels": {"app": "even"}}}])
    spread["metadata"]["labels"] = {"app": "even"}
    for side in sides:
        side.create("apps/v1", "ReplicaSet", "lonely", lonely)
        side.create(
            "apps/v1",
            "ReplicaSet",
            "even",
            {"selector": {"matchLabels": {"app": "even"}}, "template": spread, "replicas": 6},
        )
    for side in sides:
        wait_until(lambda: counts(side) == {"even": [2, 2, 2], "web": [1, 1, 1]}, f"spread in {side.namespace}")  # noqa: B023
    assert_same(sides)


def counts(side: Side) -> dict[str, list[int]]:
    """How many ready Pods each Node has, by their label."""
    found: dict[str, Counter[str]] = {}
    for pod in side.read_all("v1", "Pod"):
        if any(each["type"] == "Ready" and each["status"] == "True" for each in pod["status"].get("conditions", ())):
            found.setdefault(pod["metadata"]["labels"]["app"], Counter())[pod["spec"]["nodeName"]] += 1
    return {name: sorted(each.values()) for name, each in found.items()}


def test_a_pod_of_higher_priority_takes_the_place_of_others(sides: list[Side]) -> None:
    """Each Node has 32 CPUs, and a budget protects two of the three Pods."""
    large = {"requests": {"cpu": "20"}}
    container = {"name": "app", "image": "app:1", "resources": large}
    for side in sides:
        for name, value in (("low", 100), ("high", 1000)):
            meta = {"name": f"{name}-{side.namespace}"}
            body = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": meta, "value": value}
            side.plane.ask("POST", "/apis/scheduling.k8s.io/v1/priorityclasses", body)
        kept = {"minAvailable": 2, "selector": {"matchLabels": {"app": "kept"}}}
        side.create("policy/v1", "PodDisruptionBudget", "kept", kept)
        for number in range(3):
            spec = {"containers": [container], "priorityClassName": f"low-{side.namespace}"}
            labels = {"app": "other" if number == 1 else "kept"}
            side.create("v1", "Pod", f"low-{number}", spec, labels=labels)
    for side in sides:
        wait_until(lambda: len(ready(side)) == 3, f"three Pods run in {side.namespace}")  # noqa: B023
        side.create("v1", "Pod", "high", {"containers": [container], "priorityClassName": f"high-{side.namespace}"})
    for side in sides:
        wait_until(lambda: "high" in ready(side), f"the Pod has taken a place in {side.namespace}")  # noqa: B023
        assert sorted(ready(side)) == ["high", "low-0", "low-2"]
    assert len({reasons(side) for side in sides}) == 1


def ready(side: Side) -> list[str]:
    pods = side.read_all("v1", "Pod")
    running = [each for each in pods if each["status"].get("phase") == "Running"]
    return [each["metadata"]["name"] for each in running if not each["metadata"].get("deletionTimestamp")]


def reasons(side: Side) -> frozenset[str]:
    """Of the Events of the scheduler."""
    events = [each for each in side.read_all("v1", "Event") if each.get("reportingComponent") == "default-scheduler"]
    return frozenset(each["reason"] for each in events)

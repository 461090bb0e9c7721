"""Simulated workloads through the API, by an operator that has exactly its own rules."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import datetime

import pytest

from homeostat.objects.errors import NotFoundError, TooManyRequestsError
from homeostat.objects.json import JsonObject
from homeostat.operators import workloads
from homeostat.testing.eventually import eventually
from tests.cli.permissions import granted_by
from tests.operators.workloads.stage import Scene, Stage, open_stage

SIMULATION = "simulation.homeostat.dev"
CONTAINER = "{name: app, image: 'app:1', ports: [{name: web, containerPort: 8080}]}"


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    with open_stage(tmp_path_factory.mktemp("stage")) as found:
        yield found


def is_ready(pod: JsonObject) -> bool:
    conditions = (pod.get("status") or {}).get("conditions") or ()
    return any(each["type"] == "Ready" and each["status"] == "True" for each in conditions)


def names(found: list[JsonObject]) -> list[str]:
    return sorted(each["metadata"]["name"] for each in found)


def test_a_pod_stops_within_its_grace_period(stage: Stage) -> None:
    async def scene(on: Scene) -> None:
        asleep = CONTAINER.removesuffix("}") + ", lifecycle: {preStop: {sleep: {seconds: 3600}}}}"
        for name, after, container in (("asleep", "0s", asleep), ("quick", "0s", CONTAINER), ("slow", "1h", CONTAINER)):
            await on.apply(
                f"""
                apiVersion: v1
                kind: Pod
                metadata: {{name: {name}, annotations: {{{SIMULATION}/stop-after: {after}}}}}
                spec: {{terminationGracePeriodSeconds: 7200, containers: [{container}]}}
                """
            )
            await on.until("Pod", name, is_ready)
            marked = await on.client.delete(on.path("Pod", name))
            assert marked["metadata"]["deletionGracePeriodSeconds"] == 7200
        await on.until("Pod", "quick", lambda pod: not pod)
        for name in ("slow", "asleep"):
            slow = await on.find("Pod", name)
            assert (slow["status"]["phase"], is_ready(slow)) == ("Running", True)
            await on.until_events(name, "Started", "Killing")
            await on.client.delete(on.path("Pod", name), {"gracePeriodSeconds": 0})
            assert not await on.find("Pod", name)

    stage.play(scene)


def test_a_held_pod_shows_that_its_containers_have_stopped(stage: Stage) -> None:
    async def scene(on: Scene) -> None:
        await on.apply(
            f"""
            apiVersion: v1
            kind: Pod
            metadata: {{name: held, finalizers: [example.com/hold]}}
            spec: {{containers: [{CONTAINER}]}}
            """
        )
        await on.until("Pod", "held", is_ready)
        await on.client.delete(on.path("Pod", "held"))
        held = await on.until("Pod", "held", lambda pod: pod["metadata"]["deletionGracePeriodSeconds"] == 0)
        assert held["status"]["phase"] == "Succeeded"
        await on.client.merge(on.path("Pod", "held"), {"metadata": {"finalizers": None}})
        assert not await on.find("Pod", "held")

    stage.play(scene)


def test_a_stateful_set_waits_until_a_pod_is_gone(stage: Stage) -> None:
    async def scene(on: Scene) -> None:
        await on.apply(
            f"""
            apiVersion: apps/v1
            kind: StatefulSet
            metadata: {{name: db}}
            spec:
              replicas: 2
              selector: {{matchLabels: {{app: db}}}}
              template:
                metadata: {{labels: {{app: db}}, annotations: {{{SIMULATION}/stop-after: 1h}}}}
                spec: {{terminationGracePeriodSeconds: 7200, containers: [{CONTAINER}]}}
            """
        )
        await on.until_all("Pod", lambda pods: len(pods) == 2 and all(map(is_ready, pods)))
        await on.client.merge(on.path("StatefulSet", "db", "scale"), {"spec": {"replicas": 0}})
        await on.until("Pod", "db-1", lambda pod: "deletionTimestamp" in pod["metadata"])
        assert "deletionTimestamp" not in (await on.find("Pod", "db-0"))["metadata"]
        await on.client.delete(on.path("Pod", "db-1"), {"gracePeriodSeconds": 0})
        await on.until("Pod", "db-0", lambda pod: "deletionTimestamp" in pod["metadata"])
        await on.client.delete(on.path("Pod", "db-0"), {"gracePeriodSeconds": 0})
        await on.until("StatefulSet", "db", lambda found: not found["status"]["replicas"])

    stage.play(scene)


def conditions(found: JsonObject) -> dict[str, str]:
    return {each["type"]: each.get("reason", "") for each in (found.get("status") or {}).get("conditions") or ()}


def test_an_autoscaler_follows_the_load_of_its_target(stage: Stage) -> None:
    async def scene(on: Scene) -> None:
        await on.apply(
            """
            apiVersion: autoscaling/v2
            kind: HorizontalPodAutoscaler
            metadata: {name: web}
            spec:
              scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}
              minReplicas: 2
              maxReplicas: 6
              behavior: {scaleDown: {stabilizationWindowSeconds: 0}}
              metrics:
              - {type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 50}}}
              - {type: Pods, pods: {metric: {name: requests}, target: {type: AverageValue, averageValue: 10}}}
            """
        )
        missing = await on.until("HorizontalPodAutoscaler", "web", conditions)
        assert conditions(missing) == {"AbleToScale": "FailedGetScale"}
        await on.apply(
            """
            apiVersion: autoscaling/v2
            kind: HorizontalPodAutoscaler
            metadata: {name: foreign}
            spec: {scaleTargetRef: {apiVersion: example.com/v1, kind: Deployment, name: web}, maxReplicas: 3}
            """
        )
        resources = "resources: {requests: {cpu: 200m}}"
        await on.apply(
            f"""
            apiVersion: apps/v1
            kind: Deployment
            metadata: {{name: web, annotations: {{{SIMULATION}/load: 'cpu=450m,requests=5'}}}}
            spec:
              replicas: 1
              selector: {{matchLabels: {{app: web}}}}
              template:
                metadata: {{labels: {{app: web}}}}
                spec: {{containers: [{{name: app, image: 'app:1', {resources}}}]}}
            """
        )
        foreign = await on.until("HorizontalPodAutoscaler", "foreign", conditions)
        assert 'example.com/v1 Deployment "web" is not simulated' in foreign["status"]["conditions"][0]["message"]
        # 450m of 5 * 200m is 45 %, close enough to 50 %.
        await on.until("Deployment", "web", lambda found: found.get("status", {}).get("readyReplicas") == 5)
        found = await on.until(
            "HorizontalPodAutoscaler",
            "web",
            lambda each: (
                conditions(each).get("AbleToScale") == "ReadyForNewScale"
                and each["status"]["currentReplicas"] == 5
                and each["status"]["currentMetrics"][0]["resource"]["current"]["averageUtilization"] == 45
            ),
        )
        assert conditions(found)["ScalingActive"] == "ValidMetricFound"
        assert found["status"]["currentMetrics"] == [
            {"type": "Resource", "resource": {"name": "cpu", "current": CURRENT}},
            {"type": "Pods", "pods": {"metric": {"name": "requests"}, "current": {"averageValue": "1"}}},
        ]
        await on.until_events("web", "SuccessfulRescale", "FailedGetScale")
        annotations = {f"{SIMULATION}/load": "cpu=1m,requests=1"}
        await on.client.merge(on.path("Deployment", "web"), {"metadata": {"annotations": annotations}})
        await on.until("Deployment", "web", lambda each: each["spec"]["replicas"] == 2)
        await on.until(
            "HorizontalPodAutoscaler", "web", lambda each: conditions(each)["ScalingLimited"] == "TooFewReplicas"
        )

    stage.play(scene)


CURRENT = {"averageUtilization": 45, "averageValue": "90m"}


SERVICES = f"""
apiVersion: v1
kind: Service
metadata: {{name: plain}}
spec: {{selector: {{app: web}}, ports: [{{port: 80, targetPort: web}}]}}
---
apiVersion: v1
kind: Service
metadata: {{name: all}}
spec: {{clusterIP: None, publishNotReadyAddresses: true, selector: {{app: web}}}}
---
apiVersion: v1
kind: Pod
metadata: {{name: good, labels: {{app: web}}, annotations: {{{SIMULATION}/stop-after: 1h}}}}
spec: {{terminationGracePeriodSeconds: 7200, containers: [{CONTAINER}]}}
---
apiVersion: v1
kind: Pod
metadata: {{name: bad, labels: {{app: web}}, annotations: {{{SIMULATION}/outcome: never-ready}}}}
spec: {{containers: [{CONTAINER}]}}
"""


def addresses(endpoints: JsonObject) -> list[tuple[list[str], list[str], JsonObject]]:
    return [
        (
            sorted(one["targetRef"]["name"] for one in each.get("addresses", ())),
            sorted(one["targetRef"]["name"] for one in each.get("notReadyAddresses", ())),
            *each.get("ports", [{}]),
        )
        for each in endpoints.get("subsets", ())
    ]


def test_a_service_has_endpoints_and_slices_of_its_pods(stage: Stage) -> None:
    port = {"port": 8080, "protocol": "TCP"}

    async def scene(on: Scene) -> None:
        await on.apply(SERVICES)
        await on.until("Endpoints", "plain", lambda found: addresses(found) == [(["good"], ["bad"], port)])
        headless = await on.until("Endpoints", "all", lambda found: addresses(found) == [(["bad", "good"], [], {})])
        assert headless["metadata"]["labels"] == {
            "endpoints.kubernetes.io/managed-by": "endpoint-controller",
            "service.kubernetes.io/headless": "",
        }
        await on.client.delete(on.path("Pod", "good"))
        await on.until("Endpoints", "plain", lambda found: addresses(found) == [([], ["bad"], port)])

        def ends(found: list[JsonObject]) -> bool:
            states = [each["conditions"] for one in found for each in one.get("endpoints") or ()]
            return {"ready": False, "serving": True, "terminating": True} in states

        await on.until_all("EndpointSlice", ends, labelSelector="kubernetes.io/service-name=plain")
        await on.client.delete(on.path("Service", "plain"))
        await on.until("Endpoints", "plain", lambda found: not found)
        await on.client.delete(on.path("Pod", "good"), {"gracePeriodSeconds": 0})

    stage.play(scene)


def test_endpoints_of_a_service_without_a_selector_are_mirrored_to_slices(stage: Stage) -> None:
    async def scene(on: Scene) -> None:
        await on.apply(
            """
            apiVersion: v1
            kind: Service
            metadata: {name: outside}
            spec: {ports: [{port: 80}]}
            ---
            apiVersion: v1
            kind: Endpoints
            metadata: {name: outside, labels: {tier: db}}
            subsets:
            - addresses: [{ip: 10.1.2.3}, {ip: "fd00::1"}]
              notReadyAddresses: [{ip: 10.1.2.4, hostname: b}]
              ports: [{port: 5432}]
            """
        )

        async def until_mirrored(*wanted: tuple[str, list[str]]) -> list[JsonObject]:
            def is_mirrored(found: list[JsonObject]) -> bool:
                seen = [(each["addressType"], [one["addresses"][0] for one in each["endpoints"]]) for each in found]
                return sorted(seen) == list(wanted)

            return await on.until_all("EndpointSlice", is_mirrored, labelSelector="kubernetes.io/service-name=outside")

        found = await until_mirrored(("IPv4", ["10.1.2.3", "10.1.2.4"]), ("IPv6", ["fd00::1"]))
        (four,) = [each for each in found if each["addressType"] == "IPv4"]
        assert four["endpoints"][1] == {"addresses": ["10.1.2.4"], "conditions": {"ready": False}, "hostname": "b"}
        assert four["ports"] == [{"name": "", "port": 5432, "protocol": "TCP"}]
        assert four["metadata"]["ownerReferences"][0]["kind"] == "Endpoints"
        assert four["metadata"]["labels"] == {
            "endpointslice.kubernetes.io/managed-by": "endpointslicemirroring-controller.k8s.io",
            "kubernetes.io/service-name": "outside",
            "tier": "db",
        }
        subsets = [{"addresses": [{"ip": "10.2.3.4"}], "ports": [{"port": 5432}]}]
        await on.client.merge(on.path("Endpoints", "outside"), {"subsets": subsets})
        (kept,) = await until_mirrored(("IPv4", ["10.2.3.4"]))
        assert kept["metadata"]["uid"] == four["metadata"]["uid"]
        await on.client.delete(on.path("Endpoints", "outside"))
        await until_mirrored()

    stage.play(scene)


def test_a_budget_allows_evictions_one_after_the_other(stage: Stage) -> None:
    async def scene(on: Scene) -> None:
        await on.apply(
            f"""
            apiVersion: policy/v1
            kind: PodDisruptionBudget
            metadata: {{name: web}}
            spec: {{maxUnavailable: 34%, selector: {{matchLabels: {{app: web}}}}}}
            ---
            apiVersion: apps/v1
            kind: ReplicaSet
            metadata: {{name: web}}
            spec:
              replicas: 2
              selector: {{matchLabels: {{app: web}}}}
              template: {{metadata: {{labels: {{app: web}}}}, spec: {{containers: [{CONTAINER}]}}}}
            """
        )

        async def until_allowed(count: int) -> JsonObject:
            found = await on.until(
                "PodDisruptionBudget",
                "web",
                lambda each: each["status"].get("disruptionsAllowed") == count and each["status"]["expectedPods"] == 2,
            )
            status: JsonObject = found["status"]
            return status

        await on.until_events("web", "NoPods")
        status = await until_allowed(1)
        assert [status[each] for each in ("currentHealthy", "desiredHealthy", "observedGeneration")] == [2, 1, 1]
        assert status["conditions"][0]["reason"] == "SufficientPods"
        first, second = names(await on.all("Pod"))
        # The new Pods start late, so that the budget is used up for a while.
        slow = {"metadata": {"annotations": {f"{SIMULATION}/ready-after": "1h"}}}
        await on.client.merge(on.path("ReplicaSet", "web"), {"spec": {"template": slow}})

        async def evict(name: str) -> None:
            eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name}}
            await on.client.create(on.path("Pod", name, "eviction"), eviction)

        await evict(first)
        with pytest.raises(TooManyRequestsError):
            await evict(second)
        status = await until_allowed(0)
        assert status["conditions"][0]["reason"] == "InsufficientPods"
        for name in names(await on.until_all("Pod", lambda pods: len(pods) == 2 and first not in names(pods))):
            quick = {"metadata": {"annotations": {f"{SIMULATION}/ready-after": "0s"}}}
            await on.client.merge(on.path("Pod", name), quick)
        assert not (await until_allowed(1)).get("disruptedPods")
        await evict(second)

    stage.play(scene)


WORKERS = "/apis/scaled.example.com/v1/namespaces"


def test_a_budget_counts_what_controllers_of_any_kind_want(stage: Stage) -> None:
    """By their subresource `scale`; one without it cannot be counted."""

    async def scene(on: Scene) -> None:
        crds = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
        paths = {f"{name}ReplicasPath": f".{name}.replicas" for name in ("spec", "status")}
        version = {
            "name": "v1",
            "served": True,
            "storage": True,
            "subresources": {"status": {}, "scale": paths},
            "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}},
        }
        names_ = {"plural": "workers", "singular": "worker", "kind": "Worker"}
        spec = {"group": "scaled.example.com", "scope": "Namespaced", "names": names_, "versions": [version]}
        await on.client.create(crds, {"metadata": {"name": "workers.scaled.example.com"}, "spec": spec})
        path = f"{WORKERS}/{on.namespace}/workers"
        worker = {"apiVersion": "scaled.example.com/v1", "kind": "Worker", "metadata": {"name": "w"}}
        owner = await eventually(lambda: create_or_none(on, path, {**worker, "spec": {"replicas": 4}}), bool)
        assert owner is not None
        settings = await on.client.create(on.path("ConfigMap"), {"metadata": {"name": "w"}})
        for app, version_, kind, uid in (
            ("work", "scaled.example.com/v1", "Worker", owner["metadata"]["uid"]),
            ("fixed", "v1", "ConfigMap", settings["metadata"]["uid"]),
        ):
            reference = {"apiVersion": version_, "kind": kind, "name": "w", "uid": uid, "controller": True}
            await on.apply(
                f"""
                apiVersion: policy/v1
                kind: PodDisruptionBudget
                metadata: {{name: {app}}}
                spec: {{maxUnavailable: 50%, selector: {{matchLabels: {{app: {app}}}}}}}
                ---
                apiVersion: v1
                kind: Pod
                metadata: {{name: {app}, labels: {{app: {app}}}, ownerReferences: [{json.dumps(reference)}]}}
                spec: {{containers: [{CONTAINER}]}}
                """
            )
        counted = await on.until("PodDisruptionBudget", "work", lambda found: found["status"].get("expectedPods"))
        assert (counted["status"]["expectedPods"], counted["status"]["desiredHealthy"]) == (4, 2)
        failed = await on.until("PodDisruptionBudget", "fixed", lambda it: "SyncFailed" in conditions(it).values())
        said = "configmaps does not implement the scale subresource"
        assert failed["status"]["conditions"][0]["message"] == said
        await on.until_events("fixed", "CalculateExpectedPodCountFailed")
        await on.client.delete(f"{crds}/workers.scaled.example.com")

    stage.play(scene)


async def create_or_none(on: Scene, path: str, obj: JsonObject) -> JsonObject | None:
    """Of a kind that is served soon."""
    try:
        return await on.client.create(path, obj)
    except NotFoundError:
        return None


@pytest.mark.parametrize(("policy", "evicted"), [(None, 0), ("IfHealthyBudget", 0), ("AlwaysAllow", 2)])
def test_pods_whose_probes_delay_them_are_evicted_as_the_budget_says(
    stage: Stage, policy: str | None, evicted: int
) -> None:
    async def scene(on: Scene) -> None:
        selector = {"matchLabels": {"app": "web"}}
        rule = {"unhealthyPodEvictionPolicy": policy} if policy else {}
        budget = {"metadata": {"name": "web"}, "spec": {"maxUnavailable": 1, "selector": selector, **rule}}
        await on.client.create(on.path("PodDisruptionBudget"), budget)
        probe = {"httpGet": {"path": "/", "port": 80}, "initialDelaySeconds": 330}
        pods = {"containers": [{"name": "app", "image": "nginx:1", "readinessProbe": probe}]}
        template = {"metadata": {"labels": {"app": "web"}}, "spec": pods}
        spec = {"replicas": 2, "selector": selector, "template": template}
        await on.client.create(on.path("ReplicaSet"), {"metadata": {"name": "web"}, "spec": spec})

        def are_running(found: list[JsonObject]) -> bool:
            return [each["status"]["phase"] for each in found] == ["Running", "Running"]

        found = await on.until_all("Pod", are_running)
        assert not any(map(is_ready, found))
        await on.until("PodDisruptionBudget", "web", lambda each: each["status"].get("expectedPods") == 2)
        refused = 0
        for name in names(found):
            eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name}}
            try:
                await on.client.create(on.path("Pod", name, "eviction"), eviction)
            except TooManyRequestsError:
                refused += 1
        assert len(found) - refused == evicted

    stage.play(scene)


def test_a_job_counts_deleted_pods_and_fails_by_its_policy(stage: Stage) -> None:
    async def scene(on: Scene) -> None:
        await on.apply(
            f"""
            apiVersion: batch/v1
            kind: Job
            metadata: {{name: work}}
            spec:
              parallelism: 2
              completions: 2
              backoffLimit: 3
              podFailurePolicy:
                rules: [{{action: FailJob, onExitCodes: {{operator: In, values: [42]}}}}]
              podReplacementPolicy: Failed
              template:
                metadata:
                  annotations: {{{SIMULATION}/ready-after: 1h, {SIMULATION}/back-off: 1ms}}
                spec: {{restartPolicy: Never, containers: [{CONTAINER}]}}
            ---
            apiVersion: batch/v1
            kind: Job
            metadata: {{name: delegated}}
            spec:
              managedBy: example.com/queue
              template: {{spec: {{restartPolicy: Never, containers: [{CONTAINER}]}}}}
            """
        )
        running = await on.until_all("Pod", lambda pods: len(pods) == 2 and all("podIP" in x["status"] for x in pods))
        first = running[0]["metadata"]["name"]
        await on.client.delete(on.path("Pod", first))
        await on.until("Job", "work", lambda job: job["status"].get("failed") == 1 and job["status"]["active"] == 2)
        name = names(await on.until_all("Pod", lambda pods: len(pods) == 2 and first not in names(pods)))[0]
        fails = {f"{SIMULATION}/outcome": "fail", f"{SIMULATION}/exit-code": "42", f"{SIMULATION}/ready-after": "0s"}
        await on.client.merge(on.path("Pod", name), {"metadata": {"annotations": fails}})
        job = await on.until("Job", "work", lambda job: conditions(job).get("Failed") == "PodFailurePolicy")
        assert job["status"]["failed"] == 3
        assert not job["status"].get("active")
        await on.until_events("work", "PodFailurePolicy")
        assert not (await on.client.get(on.path("Job", "delegated"))).get("status")
        await on.client.delete(on.path("Job", "work"), {"propagationPolicy": "Background"})

    stage.play(scene)


def test_a_node_that_fails_loses_the_pods_that_do_not_tolerate_it(stage: Stage) -> None:
    node = "/api/v1/nodes/frail"
    outcome = f"{SIMULATION}/outcome"

    def pod_on(name: str, *tolerations: JsonObject) -> JsonObject:
        spec = {"nodeName": "frail", "containers": [{"name": "a", "image": "a"}], "tolerations": list(tolerations)}
        return {"metadata": {"name": name}, "spec": spec}

    async def scene(on: Scene) -> None:
        own = {"key": "of-the-test", "effect": "NoSchedule"}
        await on.client.create("/api/v1/nodes", {"metadata": {"name": "frail"}, "spec": {"taints": [own]}})
        key = "node.kubernetes.io/unreachable"
        impatient = {"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 0}
        await on.client.create(on.path("Pod"), pod_on("impatient", impatient))
        await on.client.create(on.path("Pod"), pod_on("patient"))
        await on.until_all("Pod", lambda pods: len(pods) == 2 and all(map(is_ready, pods)))
        await on.client.merge(node, {"metadata": {"annotations": {outcome: "gone"}}})
        events = "/api/v1/namespaces/default/events"

        async def refused() -> list[JsonObject]:
            return (await on.client.list(events, fieldSelector="involvedObject.name=frail,reason=InvalidRule"))[0]

        await eventually(refused, bool, within_s=15.0)
        await on.client.merge(node, {"metadata": {"annotations": {outcome: "unreachable"}}})
        patient = await on.until("Pod", "patient", lambda pod: not is_ready(pod))
        assert (patient["status"]["phase"], patient["status"]["containerStatuses"][0]["ready"]) == ("Running", True)
        # Nobody is there to stop its containers.
        leaving = await on.until("Pod", "impatient", lambda pod: "deletionTimestamp" in pod["metadata"])
        assert conditions(leaving)["DisruptionTarget"] == "DeletionByTaintManager"
        failed = await on.client.get(node)
        assert conditions(failed)["Ready"] == "NodeStatusUnknown"
        assert len(failed["spec"]["taints"]) == 3
        await on.client.merge(node, {"metadata": {"annotations": {outcome: None}}})
        await on.until("Pod", "impatient", lambda pod: not pod)
        await on.until("Pod", "patient", is_ready)
        now = {"key": "of-the-test", "effect": "NoExecute"}
        await on.client.merge(node, {"spec": {"taints": [now]}})
        await on.until("Pod", "patient", lambda pod: not pod)
        await on.client.delete(node)

    stage.play(scene)


def test_a_node_that_is_out_of_service_releases_its_pods(stage: Stage) -> None:
    node = "/api/v1/nodes/dead"

    async def scene(on: Scene) -> None:
        own = {"key": "of-the-test", "effect": "NoSchedule"}
        await on.client.create("/api/v1/nodes", {"metadata": {"name": "dead"}, "spec": {"taints": [own]}})
        spec = {"nodeName": "dead", "containers": [{"name": "a", "image": "a"}]}
        await on.client.create(on.path("Pod"), {"metadata": {"name": "stuck"}, "spec": spec})
        await on.until("Pod", "stuck", is_ready)
        annotations = {f"{SIMULATION}/outcome": "unreachable"}
        await on.client.merge(node, {"metadata": {"annotations": annotations}})
        failed = await eventually(lambda: on.client.get(node), lambda found: len(found["spec"]["taints"]) == 3)
        await on.client.delete(on.path("Pod", "stuck"))
        assert (await on.find("Pod", "stuck"))["metadata"]["deletionTimestamp"]
        lost = {"key": "node.kubernetes.io/out-of-service", "value": "shutdown", "effect": "NoExecute"}
        await on.client.merge(node, {"spec": {"taints": [*failed["spec"]["taints"], lost]}})
        await on.until("Pod", "stuck", lambda pod: not pod)
        await on.client.delete(node)

    stage.play(scene)


CLAIMS = """
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: late}
spec:
  storageClassName: on-use
  accessModes: [ReadWriteOnce]
  resources: {requests: {storage: 1Gi}}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: fitting}
spec:
  storageClassName: ""
  accessModes: [ReadWriteOnce]
  resources: {requests: {storage: 2Gi}}
"""


def user_of(claim: str) -> JsonObject:
    volume = {"name": "data", "persistentVolumeClaim": {"claimName": claim}}
    spec = {"containers": [{"name": "a", "image": "a"}], "volumes": [volume]}
    return {"metadata": {"name": f"uses-{claim}"}, "spec": spec}


def is_bound(claim: JsonObject) -> bool:
    return bool(claim["status"]["phase"] == "Bound")


def test_a_claim_is_bound_as_its_class_says(stage: Stage) -> None:
    classes, volumes = "/apis/storage.k8s.io/v1/storageclasses", "/api/v1/persistentvolumes"

    async def scene(on: Scene) -> None:
        on_use = {"volumeBindingMode": "WaitForFirstConsumer", "reclaimPolicy": "Retain", "provisioner": "example.com"}
        await on.client.create(classes, {"metadata": {"name": "on-use"}, **on_use})
        await on.apply(CLAIMS)
        await on.until_events("late", "WaitForFirstConsumer")
        await on.until_events("fitting", "FailedBinding")
        await on.client.create(on.path("Pod"), user_of("fitting"))
        await on.client.create(on.path("Pod"), user_of("late"))
        await on.until("Pod", "uses-late", is_ready)
        late = await on.until("PersistentVolumeClaim", "late", is_bound)
        made = await on.client.get(f"{volumes}/{late['spec']['volumeName']}")
        assert made["spec"]["persistentVolumeReclaimPolicy"] == "Retain"
        waiting = await on.until("Pod", "uses-fitting", lambda pod: "PodScheduled" in conditions(pod))
        assert "unbound immediate PersistentVolumeClaims" in waiting["status"]["conditions"][0]["message"]
        for size in (1, 9, 3):
            spec = {"accessModes": ["ReadWriteOnce"], "capacity": {"storage": f"{size}Gi"}, "hostPath": {"path": "/a"}}
            await on.client.create(volumes, {"metadata": {"name": f"of-{size}"}, "spec": spec})
        fitting = await on.until("PersistentVolumeClaim", "fitting", is_bound)
        assert fitting["spec"]["volumeName"] in {"of-3", "of-9"}
        await on.until("Pod", "uses-fitting", is_ready)
        for name in ("of-1", "of-9", "of-3", made["metadata"]["name"]):
            await on.client.delete(f"{volumes}/{name}")
        await on.client.delete(f"{classes}/on-use")
        # A claim stays while a Pod on a Node uses it, and its volume while the claim exists.
        await on.client.delete(on.path("PersistentVolumeClaim", "late"))
        await on.until("PersistentVolumeClaim", "late", lambda found: found["metadata"].get("deletionTimestamp"))
        await on.client.delete(on.path("Pod", "uses-late"))
        await on.until("PersistentVolumeClaim", "late", lambda found: not found)
        gone = made["metadata"]["name"]
        left, _ = await eventually(
            lambda: on.client.list(volumes), lambda found: gone not in names(found[0]), within_s=15.0
        )
        assert fitting["spec"]["volumeName"] in names(left)

    stage.play(scene)


def test_a_claim_without_a_class_gets_the_default_one_later(stage: Stage) -> None:
    classes = "/apis/storage.k8s.io/v1/storageclasses"
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}

    async def scene(on: Scene) -> None:
        await on.client.create(on.path("PersistentVolumeClaim"), {"metadata": {"name": "free"}, "spec": spec})
        free = await on.until("PersistentVolumeClaim", "free", is_bound)
        assert "storageClassName" not in free["spec"]
        await on.client.create(classes, {"metadata": {"name": "other"}, "provisioner": "example.com"})
        await on.client.create(on.path("PersistentVolumeClaim"), {"metadata": {"name": "early"}, "spec": spec})
        await on.until_events("early", "FailedBinding")
        marks = {"storageclass.kubernetes.io/is-default-class": "true"}
        await on.client.merge(f"{classes}/other", {"metadata": {"annotations": marks}})
        early = await on.until("PersistentVolumeClaim", "early", is_bound)
        assert early["spec"]["storageClassName"] == "other"
        await on.client.delete(f"{classes}/other")

    stage.play(scene)


def test_a_pod_makes_room_for_one_of_higher_priority(stage: Stage) -> None:
    classes = "/apis/scheduling.k8s.io/v1/priorityclasses"

    async def scene(on: Scene) -> None:
        await on.client.create(classes, {"metadata": {"name": "urgent"}, "value": 1000})
        needs = {"containers": [{"name": "app", "image": "app:1", "resources": {"requests": {"cpu": "20"}}}]}
        for number in range(3):
            held = {"name": f"low-{number}", "finalizers": ["example.com/held"]}
            await on.client.create(on.path("Pod"), {"metadata": held, "spec": needs})
            await on.until("Pod", f"low-{number}", is_ready)
        urgent = {"metadata": {"name": "high"}, "spec": {**needs, "priorityClassName": "urgent"}}
        await on.client.create(on.path("Pod"), urgent)
        found = await on.until("Pod", "high", lambda pod: pod["status"].get("nominatedNodeName"))
        (victim,) = [each for each in await on.all("Pod") if each["metadata"].get("deletionTimestamp")]
        assert victim["spec"]["nodeName"] == found["status"]["nominatedNodeName"]
        (condition,) = [each for each in victim["status"]["conditions"] if each["type"] == "DisruptionTarget"]
        assert condition["reason"] == "PreemptionByScheduler"
        await on.until_events(victim["metadata"]["name"], "Preempted")
        for number in range(3):
            await on.client.merge(on.path("Pod", f"low-{number}"), {"metadata": {"finalizers": None}})
        await on.until("Pod", "high", is_ready)
        assert len(await on.all("Pod")) == 3
        await on.client.delete(f"{classes}/urgent")

    stage.play(scene)


def test_claims_of_a_stateful_set_go_as_its_policy_says(stage: Stage) -> None:
    async def scene(on: Scene) -> None:
        await on.apply(
            f"""
            apiVersion: apps/v1
            kind: StatefulSet
            metadata: {{name: db}}
            spec:
              replicas: 2
              podManagementPolicy: Parallel
              persistentVolumeClaimRetentionPolicy: {{whenScaled: Delete, whenDeleted: Delete}}
              selector: {{matchLabels: {{app: db}}}}
              template: {{metadata: {{labels: {{app: db}}}}, spec: {{containers: [{CONTAINER}]}}}}
              volumeClaimTemplates:
              - metadata: {{name: data}}
                spec: {{accessModes: [ReadWriteOnce], resources: {{requests: {{storage: 1Gi}}}}}}
            """
        )
        await on.until_all("Pod", lambda pods: len(pods) == 2 and all(map(is_ready, pods)))
        owned = "PersistentVolumeClaim", lambda found: len(found) == 2 and all(map(owner_of, found))
        assert {owner_of(each) for each in await on.until_all(*owned)} == {"StatefulSet"}
        # A new Pod waits for the end of its old claim.
        claim = on.path("PersistentVolumeClaim", "data-db-1")
        await on.client.merge(claim, {"metadata": {"finalizers": ["example.com/held"]}})
        await on.client.delete(claim)
        await on.client.delete(on.path("Pod", "db-1"))
        await on.until_events("db", "FailedCreate")
        assert not await on.find("Pod", "db-1")
        await on.client.merge(claim, {"metadata": {"finalizers": None}})
        await on.until("Pod", "db-1", is_ready)
        await on.client.merge(on.path("StatefulSet", "db", "scale"), {"spec": {"replicas": 1}})
        await on.until_all("PersistentVolumeClaim", lambda found: names(found) == ["data-db-0"])
        await on.client.delete(on.path("StatefulSet", "db"), {"propagationPolicy": "Background"})
        await on.until_all("PersistentVolumeClaim", lambda found: not found)

    stage.play(scene)


def owner_of(obj: JsonObject) -> str:
    owners = obj["metadata"].get("ownerReferences") or [{"kind": ""}]
    return str(owners[0]["kind"])


OTHERS = f"""
apiVersion: v1
kind: Pod
metadata: {{name: orphan, labels: {{app: plain}}}}
spec: {{containers: [{CONTAINER}]}}
---
apiVersion: v1
kind: ReplicationController
metadata: {{name: plain}}
spec: {{replicas: 1, template: {{metadata: {{labels: {{app: plain}}}}, spec: {{containers: [{CONTAINER}]}}}}}}
---
apiVersion: apps/v1
kind: DaemonSet
metadata: {{name: agent}}
spec:
  selector: {{matchLabels: {{app: agent}}}}
  template: {{metadata: {{labels: {{app: agent}}}}, spec: {{containers: [{CONTAINER}]}}}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {{name: web}}
spec:
  revisionHistoryLimit: 0
  selector: {{matchLabels: {{app: web}}}}
  template: {{metadata: {{labels: {{app: web}}}}, spec: {{containers: [{CONTAINER}]}}}}
---
apiVersion: batch/v1
kind: Job
metadata: {{name: brief}}
spec:
  ttlSecondsAfterFinished: 0
  template: {{spec: {{restartPolicy: Never, containers: [{CONTAINER}]}}}}
---
apiVersion: batch/v1
kind: CronJob
metadata: {{name: tick}}
spec:
  schedule: "@every 1s"
  concurrencyPolicy: Forbid
  jobTemplate: {{spec: {{template: {{spec: {{restartPolicy: Never, containers: [{CONTAINER}]}}}}}}}}
---
apiVersion: batch/v1
kind: CronJob
metadata: {{name: endless}}
spec:
  schedule: "@every 1s"
  concurrencyPolicy: Forbid
  jobTemplate: {{spec: {{template: {{spec: {{restartPolicy: Never, containers: [{{name: a, image: pause}}]}}}}}}}}
"""


def test_every_other_kind_works_with_these_rules(stage: Stage) -> None:
    async def scene(on: Scene) -> None:
        await on.apply(OTHERS)
        for kind in ("ReplicationController", "Deployment"):
            name = "plain" if kind == "ReplicationController" else "web"
            await on.until(kind, name, lambda found: found.get("status", {}).get("readyReplicas") == 1)
        await on.until_all("Pod", lambda pods: owner_of(next(p for p in pods if p["metadata"]["name"] == "orphan")))
        image = {"spec": {"template": {"spec": {"containers": [{"name": "app", "image": "app:2"}]}}}}
        await on.client.merge(on.path("Deployment", "web"), image)
        await on.until_all("ReplicaSet", lambda sets: len(sets) == 1 and sets[0]["status"].get("readyReplicas"))
        await on.until("DaemonSet", "agent", lambda found: found.get("status", {}).get("numberReady", 0) >= 3)
        (revision,) = await on.all("ControllerRevision")
        assert json.dumps(revision["data"]) == json.dumps(revision["data"], sort_keys=True)
        await on.until("CronJob", "tick", lambda found: found.get("status", {}).get("lastSuccessfulTime"))
        found = await on.until("CronJob", "endless", lambda found: found.get("status", {}).get("active"))
        await on.client.delete(on.path("Job", found["status"]["active"][0]["name"]))
        await on.until_events("endless", "MissingJob")
        await on.until("Job", "brief", lambda found: not found)

    stage.play(scene)


RARE = {
    # An owner is read before it adopts something.
    *((each, "get") for each in ("deployments", "replicasets", "statefulsets", "daemonsets", "jobs")),
    # A Pod on a Node that does not exist, a second Event like the first, the Lease of a Node after a while.
    ("nodes", "get"),
    ("nodes", "patch"),
    ("events", "patch"),
    ("leases", "patch"),
    # Older revisions, and revisions of other owners.
    *(("controllerrevisions", verb) for verb in ("get", "patch", "delete")),
    ("replicasets", "delete"),
    # Targets of autoscalers other than Deployments.
    *((f"{each}/scale", "patch") for each in ("replicasets", "replicationcontrollers", "statefulsets")),
}
"""What the scenes do not need, at least not in every run."""


def test_the_scenes_need_the_operator_s_rules_and_no_others(stage: Stage) -> None:
    """After the scenes above. Requests to a namespace that is being deleted are refused whatever the rules say."""
    of_any = {("workers/scale", "get"): ("*/scale", "get")}
    used = {of_any.get(each, each) for each in stage.used if each[0]}  # The others are of discovery.
    assert used - granted_by(workloads.RULES) == set()
    unused = {each for each in granted_by(workloads.RULES) - used if each[1] != "list"}  # Listed by watching.
    assert sorted(unused - RARE) == []


def test_pods_that_wait_at_gates_are_created_once_and_run_when_the_gates_are_open(stage: Stage) -> None:
    async def scene(on: Scene) -> None:
        await on.apply("""
            apiVersion: apps/v1
            kind: ReplicaSet
            metadata: {name: gated}
            spec:
              replicas: 2
              selector: {matchLabels: {app: gated}}
              template:
                metadata: {labels: {app: gated}}
                spec: {schedulingGates: [{name: example.com/later}], containers: [{name: app, image: app:1}]}
            """)
        await on.until("ReplicaSet", "gated", lambda found: found["status"].get("replicas") == 2)
        pods = await on.all("Pod")
        assert [each["status"]["conditions"][0]["reason"] for each in pods] == ["SchedulingGated"] * 2
        for each in pods:
            await on.client.merge(on.path("Pod", each["metadata"]["name"]), {"spec": {"schedulingGates": None}})
        await on.until("ReplicaSet", "gated", lambda found: found["status"].get("readyReplicas") == 2)
        assert len(await on.all("Pod")) == 2

    stage.play(scene)


def test_a_pod_on_a_node_whose_port_is_taken_is_rejected(stage: Stage) -> None:
    async def scene(on: Scene) -> None:
        for name in ("first", "second"):
            await on.apply(
                f"""
                apiVersion: v1
                kind: Pod
                metadata: {{name: {name}}}
                spec:
                  nodeName: node-1
                  containers: [{{name: app, image: 'app:1', ports: [{{containerPort: 80, hostPort: 21017}}]}}]
                """
            )
            if name == "first":
                await on.until("Pod", name, is_ready)
        found = (await on.until("Pod", "second", lambda pod: pod["status"]["phase"] != "Pending"))["status"]
        assert (found["phase"], found["reason"]) == ("Failed", "NodePorts")
        assert found["message"].startswith(
            "Pod was rejected: Predicate NodePorts failed: node(s) didn't have free ports"
        )
        await on.until_events("second", "NodePorts")

    stage.play(scene)


def test_a_kubelet_rejects_what_does_not_fit_on_its_node(stage: Stage) -> None:
    async def scene(on: Scene) -> None:
        app = "{name: app, image: 'app:1', resources: {requests: {cpu: 20}}}"
        text = "{apiVersion: v1, kind: Pod, metadata: {name: %s}, spec: {%s, containers: [" + app + "]}}"
        for name, more in (("big", "nodeName: node-1"), ("picky", "nodeName: node-2, nodeSelector: {disk: none}")):
            await on.apply(text % (name, more))
        await on.until("Pod", "big", is_ready)
        await on.apply(text % ("bigger", "nodeName: node-1"))
        found = (await on.until("Pod", "bigger", lambda pod: pod["status"]["phase"] == "Failed"))["status"]
        message = "Node didn't have enough resource: cpu, requested: 20000, used: 20000, capacity: 32000"
        assert (found["reason"], found["message"]) == ("OutOfcpu", f"Pod was rejected: {message}")
        assert "conditions" not in found
        assert found["startTime"]
        picky = (await on.until("Pod", "picky", lambda pod: pod["status"]["phase"] == "Failed"))["status"]
        assert picky["reason"] == "NodeAffinity"
        await on.until_events("bigger", "OutOfcpu")

    stage.play(scene)


def test_daemons_that_their_node_rejects_are_replaced_ever_more_slowly(stage: Stage) -> None:
    async def scene(on: Scene) -> None:
        await on.apply(
            """
            apiVersion: apps/v1
            kind: DaemonSet
            metadata: {name: huge}
            spec:
              selector: {matchLabels: {app: huge}}
              template:
                metadata: {labels: {app: huge}}
                spec:
                  nodeName: node-1
                  containers: [{name: app, image: 'app:1', resources: {requests: {cpu: 99}}}]
            """
        )
        reason = "reason=FailedDaemonPod"
        found = await on.until_all("Event", lambda found: len(found) >= 3, fieldSelector=reason)
        times = sorted(datetime.fromisoformat(each["firstTimestamp"]) for each in found[:3])
        assert (times[2] - times[0]).total_seconds() >= 2

    stage.play(scene)


def test_init_and_ephemeral_containers_run(stage: Stage) -> None:
    async def scene(on: Scene) -> None:
        for name, command in (("slow", "[sleep, '1']"), ("broken", "['false']")):
            await on.apply(
                f"""
                apiVersion: v1
                kind: Pod
                metadata: {{name: {name}}}
                spec:
                  restartPolicy: Never
                  initContainers: [{{name: first, image: 'app:1', command: {command}}}]
                  containers: [{{name: app, image: 'app:1'}}]
                """
            )
        broken = await on.until("Pod", "broken", lambda pod: pod["status"]["phase"] == "Failed")
        assert broken["status"]["initContainerStatuses"][0]["state"]["terminated"]["exitCode"] == 1
        waits = await on.until("Pod", "slow", lambda pod: "initContainerStatuses" in pod["status"])
        assert "running" in waits["status"]["initContainerStatuses"][0]["state"]
        assert waits["status"]["phase"] == "Pending"
        await on.until("Pod", "slow", is_ready)
        debugger = {"ephemeralContainers": [{"name": "debugger", "image": "busybox", "command": ["sh"]}]}
        await on.client.merge(on.path("Pod", "slow", "ephemeralcontainers"), {"spec": debugger})
        found = await on.until("Pod", "slow", lambda pod: "ephemeralContainerStatuses" in pod["status"])
        assert "running" in found["status"]["ephemeralContainerStatuses"][0]["state"]
        await on.until_events("slow", "Started")

    stage.play(scene)


def test_a_rule_for_a_number_of_pods_leaves_the_later_ones_alone(stage: Stage) -> None:
    async def scene(on: Scene) -> None:
        await on.apply(
            """
            apiVersion: v1
            kind: ConfigMap
            metadata: {name: flaky, labels: {simulation.homeostat.dev/rules: "true"}}
            data:
              twice: |
                name: "flaky-*"
                times: 2
                outcome: evicted-memory
            ---
            apiVersion: batch/v1
            kind: Job
            metadata: {name: flaky}
            spec:
              backoffLimit: 0
              podFailurePolicy:
                rules: [{action: Ignore, onPodConditions: [{type: DisruptionTarget, status: 'True'}]}]
              template:
                metadata: {annotations: {simulation.homeostat.dev/back-off: 10ms}}
                spec: {restartPolicy: Never, containers: [{name: app, image: 'app:1'}]}
            """
        )
        await on.until("Job", "flaky", lambda job: (job.get("status") or {}).get("succeeded") == 1)
        pods = await on.all("Pod")
        assert sorted(each["status"].get("reason", "") for each in pods) == ["", "Evicted", "Evicted"]

    stage.play(scene)

"""What the server fills in where an object says nothing."""

from __future__ import annotations

import copy

import pytest

from homeostat.objects.json import Json, JsonObject
from homeostat.server.kinds.builtins.defaults import apply_defaults, apply_initial
from tests.server.kinds.builtins.manifests import (
    ADMISSION,
    GOOD,
    NETWORKING,
    RBAC,
    STORAGE,
    WEBHOOK,
    defaulted,
    pod_spec,
)


def at(obj: Json, path: str) -> Json:
    for name in path.split("."):
        obj = obj[int(name)] if isinstance(obj, list) else obj.get(name)
    return obj


@pytest.mark.parametrize(
    ("group", "kind", "path", "value"),
    [
        ("apps", "Deployment", "spec.replicas", 1),
        ("apps", "Deployment", "spec.revisionHistoryLimit", 10),
        ("apps", "Deployment", "spec.progressDeadlineSeconds", 600),
        (
            "apps",
            "Deployment",
            "spec.strategy",
            {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": "25%", "maxSurge": "25%"}},
        ),
        ("apps", "Deployment", "spec.template.spec.restartPolicy", "Always"),
        ("apps", "Deployment", "spec.template.spec.dnsPolicy", "ClusterFirst"),
        ("apps", "Deployment", "spec.template.spec.schedulerName", "default-scheduler"),
        ("apps", "Deployment", "spec.template.spec.terminationGracePeriodSeconds", 30),
        ("apps", "Deployment", "spec.template.spec.securityContext", {}),
        ("apps", "Deployment", "spec.template.spec.enableServiceLinks", None),
        ("apps", "Deployment", "spec.template.spec.containers.0.imagePullPolicy", "IfNotPresent"),
        ("apps", "Deployment", "spec.template.spec.containers.0.terminationMessagePath", "/dev/termination-log"),
        ("apps", "Deployment", "spec.template.spec.containers.0.terminationMessagePolicy", "File"),
        ("apps", "Deployment", "spec.template.spec.containers.0.resources", {}),
        ("apps", "ReplicaSet", "spec.replicas", 1),
        ("apps", "StatefulSet", "spec.podManagementPolicy", "OrderedReady"),
        ("apps", "StatefulSet", "spec.updateStrategy", {"type": "RollingUpdate", "rollingUpdate": {"partition": 0}}),
        (
            "apps",
            "StatefulSet",
            "spec.persistentVolumeClaimRetentionPolicy",
            {"whenDeleted": "Retain", "whenScaled": "Retain"},
        ),
        ("apps", "StatefulSet", "spec.volumeClaimTemplates.0.spec.volumeMode", "Filesystem"),
        ("apps", "StatefulSet", "spec.volumeClaimTemplates.0.status.phase", "Pending"),
        (
            "apps",
            "DaemonSet",
            "spec.updateStrategy",
            {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 1, "maxSurge": 0}},
        ),
        ("", "ReplicationController", "spec.selector", {"app": "web"}),
        ("", "ReplicationController", "metadata.labels", {"app": "web"}),
        ("batch", "Job", "spec.completions", 1),
        ("batch", "Job", "spec.parallelism", 1),
        ("batch", "Job", "spec.backoffLimit", 6),
        ("batch", "Job", "spec.completionMode", "NonIndexed"),
        ("batch", "Job", "spec.suspend", False),
        ("batch", "Job", "spec.podReplacementPolicy", "TerminatingOrFailed"),
        ("batch", "CronJob", "spec.concurrencyPolicy", "Allow"),
        ("batch", "CronJob", "spec.suspend", False),
        ("batch", "CronJob", "spec.successfulJobsHistoryLimit", 3),
        ("batch", "CronJob", "spec.failedJobsHistoryLimit", 1),
        ("batch", "CronJob", "spec.jobTemplate.spec.template.spec.dnsPolicy", "ClusterFirst"),
        ("batch", "CronJob", "spec.jobTemplate.spec.completions", None),
        ("", "Pod", "spec.enableServiceLinks", True),
        ("", "Pod", "status.phase", "Pending"),
        ("", "Service", "spec.type", "ClusterIP"),
        ("", "Service", "spec.sessionAffinity", "None"),
        ("", "Service", "spec.internalTrafficPolicy", "Cluster"),
        ("", "Service", "spec.ports.0", {"port": 80, "protocol": "TCP", "targetPort": 80}),
        ("", "Service", "spec.clusterIP", None),
        ("", "Service", "status.loadBalancer", {}),
        ("", "Endpoints", "subsets.0.ports.0.protocol", "TCP"),
        ("", "Secret", "type", "Opaque"),
        ("", "Secret", "data", {"a": "Yg=="}),
        ("", "Secret", "stringData", None),
        ("", "Namespace", "spec.finalizers", ["kubernetes"]),
        ("", "Namespace", "status.phase", "Active"),
        ("", "Namespace", "metadata.labels", {"kubernetes.io/metadata.name": "web"}),
        ("", "PersistentVolume", "spec.persistentVolumeReclaimPolicy", "Retain"),
        ("", "PersistentVolume", "spec.volumeMode", "Filesystem"),
        ("", "PersistentVolumeClaim", "status.phase", "Pending"),
        ("", "Node", "status.allocatable", {"cpu": "4"}),
        ("", "LimitRange", "spec.limits.0.default", {"cpu": "2"}),
        ("", "LimitRange", "spec.limits.0.defaultRequest", {"cpu": "2"}),
        (NETWORKING, "NetworkPolicy", "spec.policyTypes", ["Ingress"]),
        ("autoscaling", "HorizontalPodAutoscaler", "spec.minReplicas", 1),
        ("autoscaling", "HorizontalPodAutoscaler", "spec.metrics.0.resource.target.averageUtilization", 80),
        (STORAGE, "StorageClass", "reclaimPolicy", "Delete"),
        (STORAGE, "StorageClass", "volumeBindingMode", "Immediate"),
        ("discovery.k8s.io", "EndpointSlice", "ports.0", {"port": 80, "name": "", "protocol": "TCP"}),
        ("scheduling.k8s.io", "PriorityClass", "preemptionPolicy", "PreemptLowerPriority"),
        (RBAC, "RoleBinding", "roleRef.apiGroup", RBAC),
        (RBAC, "RoleBinding", "subjects.0.apiGroup", RBAC),
        (RBAC, "ClusterRoleBinding", "subjects.0.apiGroup", None),
        (ADMISSION, "MutatingWebhookConfiguration", "webhooks.0.failurePolicy", "Fail"),
        (ADMISSION, "MutatingWebhookConfiguration", "webhooks.0.matchPolicy", "Equivalent"),
        (ADMISSION, "MutatingWebhookConfiguration", "webhooks.0.timeoutSeconds", 10),
        (ADMISSION, "MutatingWebhookConfiguration", "webhooks.0.reinvocationPolicy", "Never"),
        (ADMISSION, "MutatingWebhookConfiguration", "webhooks.0.namespaceSelector", {}),
        (ADMISSION, "MutatingWebhookConfiguration", "webhooks.0.rules.0.scope", "*"),
        (ADMISSION, "MutatingWebhookConfiguration", "webhooks.0.clientConfig.service.port", 443),
        (ADMISSION, "ValidatingWebhookConfiguration", "webhooks.0.reinvocationPolicy", None),
        (ADMISSION, "ValidatingAdmissionPolicy", "spec.failurePolicy", "Fail"),
        (ADMISSION, "ValidatingAdmissionPolicy", "spec.matchConstraints.matchPolicy", "Equivalent"),
    ],
)
def test_a_member_that_is_absent_is_filled_in(group: str, kind: str, path: str, value: Json) -> None:
    assert at(defaulted(group, kind, GOOD[group, kind]), path) == value


@pytest.mark.parametrize(("group", "kind"), GOOD)
def test_defaults_settle_at_once(group: str, kind: str) -> None:
    once = defaulted(group, kind, GOOD[group, kind], uid="u-1")
    twice = copy.deepcopy(once)
    apply_defaults(group, kind, twice)
    apply_initial(group, kind, twice)
    assert twice == once


@pytest.mark.parametrize(
    ("image", "policy"),
    [
        ("nginx", "Always"),
        ("nginx:latest", "Always"),
        ("nginx:1.25", "IfNotPresent"),
        ("registry.example:5000/nginx", "Always"),
        ("registry.example:5000/nginx:2", "IfNotPresent"),
        ("nginx@sha256:abc", "IfNotPresent"),
        ("nginx:latest@sha256:abc", "IfNotPresent"),
        (f"nginx@sha256:{'a' * 64}", "IfNotPresent"),
        (f"nginx:latest@sha256:{'a' * 64}", "Always"),
        (f"nginx:1.25@sha256:{'a' * 64}", "IfNotPresent"),
        ("nginx:latest:latest", "IfNotPresent"),
    ],
)
def test_an_image_is_pulled_again_only_when_its_tag_may_move(image: str, policy: str) -> None:
    pod = defaulted("", "Pod", {"spec": {"containers": [{"name": "c", "image": image}]}})
    assert at(pod, "spec.containers.0.imagePullPolicy") == policy


def test_probes_ports_and_references_are_completed() -> None:
    container = {
        "name": "c",
        "image": "i:1",
        "ports": [{"containerPort": 80}],
        "livenessProbe": {"httpGet": {"port": 80}},
        "env": [{"name": "N", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}],
        "lifecycle": {"preStop": {"httpGet": {"port": 80}}},
    }
    found = at(defaulted("", "Pod", {"spec": {"containers": [container]}}), "spec.containers.0")
    assert found["ports"] == [{"containerPort": 80, "protocol": "TCP"}]
    assert found["livenessProbe"] == {
        "httpGet": {"port": 80, "path": "/", "scheme": "HTTP"},
        "timeoutSeconds": 1,
        "periodSeconds": 10,
        "successThreshold": 1,
        "failureThreshold": 3,
    }
    assert found["env"][0]["valueFrom"]["fieldRef"]["apiVersion"] == "v1"
    assert found["lifecycle"]["preStop"]["httpGet"]["scheme"] == "HTTP"


@pytest.mark.parametrize(
    ("volume", "completed"),
    [
        ({"name": "v"}, {"name": "v", "emptyDir": {}}),
        (
            {"name": "v", "secret": {"secretName": "s"}},
            {"name": "v", "secret": {"secretName": "s", "defaultMode": 420}},
        ),
        ({"name": "v", "configMap": {"name": "c"}}, {"name": "v", "configMap": {"name": "c", "defaultMode": 420}}),
        ({"name": "v", "hostPath": {"path": "/"}}, {"name": "v", "hostPath": {"path": "/", "type": ""}}),
        (
            {"name": "v", "projected": {"sources": [{"serviceAccountToken": {"path": "t"}}]}},
            {
                "name": "v",
                "projected": {
                    "defaultMode": 420,
                    "sources": [{"serviceAccountToken": {"path": "t", "expirationSeconds": 3600}}],
                },
            },
        ),
    ],
)
def test_a_volume_has_a_source_and_a_mode(volume: JsonObject, completed: JsonObject) -> None:
    assert at(defaulted("", "Pod", {"spec": pod_spec(volumes=[volume])}), "spec.volumes.0") == completed


def test_a_pod_requests_its_limits_and_a_template_does_not() -> None:
    container = {"name": "c", "image": "i:1", "resources": {"limits": {"cpu": "1"}}}
    pod = defaulted("", "Pod", {"spec": {"containers": [container]}})
    template = defaulted("", "PodTemplate", {"template": {"spec": {"containers": [container]}}})
    assert at(pod, "spec.containers.0.resources.requests") == {"cpu": "1"}
    assert "requests" not in at(template, "template.spec.containers.0.resources")


def test_host_ports_are_the_container_ports_on_the_host_network() -> None:
    spec = {"hostNetwork": True, "containers": [{"name": "c", "image": "i:1", "ports": [{"containerPort": 80}]}]}
    assert at(defaulted("", "Pod", {"spec": spec}), "spec.containers.0.ports.0.hostPort") == 80


def test_a_recreate_strategy_gets_no_bounds() -> None:
    body = copy.deepcopy(GOOD["apps", "Deployment"])
    body["spec"]["strategy"] = {"type": "Recreate"}
    assert at(defaulted("apps", "Deployment", body), "spec.strategy") == {"type": "Recreate"}


def test_a_uid_that_a_client_wrote_selects_nothing() -> None:
    job = {"metadata": {"name": "web", "uid": "made-up"}, **copy.deepcopy(GOOD["batch", "Job"])}
    apply_defaults("batch", "Job", job)
    assert "selector" not in job["spec"]


def test_a_job_selects_its_own_pods() -> None:
    job = defaulted("batch", "Job", GOOD["batch", "Job"], uid="u-1")
    assert job["spec"]["selector"] == {"matchLabels": {"batch.kubernetes.io/controller-uid": "u-1"}}
    assert at(job, "spec.template.metadata.labels") == {
        "app": "web",
        "controller-uid": "u-1",
        "job-name": "web",
        "batch.kubernetes.io/controller-uid": "u-1",
        "batch.kubernetes.io/job-name": "web",
    }


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({"type": "NodePort"}, {"externalTrafficPolicy": "Cluster"}),
        ({"type": "LoadBalancer"}, {"allocateLoadBalancerNodePorts": True}),
        ({"type": "ExternalName", "externalName": "a.b"}, {"internalTrafficPolicy": None, "ipFamilies": None}),
        ({"sessionAffinity": "ClientIP"}, {"sessionAffinityConfig": {"clientIP": {"timeoutSeconds": 10800}}}),
        ({"sessionAffinityConfig": {"clientIP": {}}}, {"sessionAffinityConfig": None}),
    ],
)
def test_a_service_is_completed_by_its_type(spec: JsonObject, expected: JsonObject) -> None:
    found = defaulted("", "Service", {"spec": {"ports": [{"port": 80}], **spec}})["spec"]
    assert {name: found.get(name) for name in expected} == expected


def test_string_data_overrides_data_and_does_not_stay() -> None:
    secret = defaulted("", "Secret", {"data": {"a": "eA==", "b": "eQ=="}, "stringData": {"a": "ä"}})
    assert secret["data"] == {"a": "w6Q=", "b": "eQ=="}
    assert "stringData" not in secret


def test_a_terminating_namespace_is_not_given_its_finalizer_back() -> None:
    terminating = defaulted("", "Namespace", {"spec": {}}, deletionTimestamp="2026-01-02T03:04:05Z")
    assert terminating["spec"] == {}


def test_egress_rules_make_a_policy_for_both_directions() -> None:
    policy = defaulted(NETWORKING, "NetworkPolicy", {"spec": {"egress": [{"ports": [{"port": 53}]}]}})
    assert policy["spec"]["policyTypes"] == ["Ingress", "Egress"]
    assert at(policy, "spec.egress.0.ports.0.protocol") == "TCP"


def test_a_v1_autoscaler_keeps_to_its_own_members() -> None:
    body = {"apiVersion": "autoscaling/v1", **GOOD["autoscaling", "HorizontalPodAutoscaler"]}
    assert "metrics" not in defaulted("autoscaling", "HorizontalPodAutoscaler", body)["spec"]


def test_what_was_said_stays() -> None:
    webhook = {**WEBHOOK, "failurePolicy": "Ignore", "timeoutSeconds": 3}
    found = defaulted(ADMISSION, "MutatingWebhookConfiguration", {"webhooks": [webhook]})["webhooks"][0]
    assert (found["failurePolicy"], found["timeoutSeconds"]) == ("Ignore", 3)


def test_a_kind_without_defaults_is_unchanged() -> None:
    lease = {"metadata": {"name": "l"}, "spec": {}}
    apply_defaults("coordination.k8s.io", "Lease", lease)
    assert lease == {"metadata": {"name": "l"}, "spec": {}}

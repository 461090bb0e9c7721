"""What may not change of an object once it is created."""

from __future__ import annotations

from time import process_time

import pytest

from homeostat.objects.json import Json, JsonObject
from homeostat.server.kinds.builtins.checks import check_update
from tests.server.kinds.builtins.manifests import GOOD, NETWORKING, RBAC, STORAGE, defaulted, put, told

POD_SAID = "Forbidden: pod updates may not change fields other than `spec.containers[*].image`"
SETTLED = "field is immutable"


def stored(group: str, kind: str) -> JsonObject:
    return defaulted(group, kind, GOOD[group, kind], uid="u-1")


def refusals(group: str, kind: str, new: JsonObject, old: JsonObject) -> list[str]:
    return told(check_update(group, kind, new, old))


@pytest.mark.parametrize(("group", "kind"), GOOD)
def test_an_object_may_stay_as_it_is(group: str, kind: str) -> None:
    assert refusals(group, kind, stored(group, kind), stored(group, kind)) == []


@pytest.mark.parametrize(("group", "kind"), GOOD)
def test_labels_and_annotations_may_always_change(group: str, kind: str) -> None:
    new = put(put(stored(group, kind), "metadata.labels", {"a": "b"}), "metadata.annotations", {"c": "d"})
    assert refusals(group, kind, new, stored(group, kind)) == []


@pytest.mark.parametrize(
    ("group", "kind", "path", "value", "field", "said"),
    [
        ("apps", "Deployment", "spec.selector", {"matchLabels": {"a": "b"}}, "spec.selector", SETTLED),
        ("apps", "ReplicaSet", "spec.selector", {"matchLabels": {"a": "b"}}, "spec.selector", SETTLED),
        ("apps", "DaemonSet", "spec.selector", {"matchLabels": {"a": "b"}}, "spec.selector", SETTLED),
        ("apps", "StatefulSet", "spec.serviceName", "other", "spec", "Forbidden: updates to statefulset spec"),
        ("apps", "ControllerRevision", "data", {"a": 1}, "data", SETTLED),
        ("batch", "Job", "spec.completions", 2, "spec.completions", SETTLED),
        ("batch", "Job", "spec.selector", {}, "spec.selector", SETTLED),
        ("batch", "Job", "spec.template.spec.hostNetwork", True, "spec.template", SETTLED),
        ("", "Pod", "spec.hostNetwork", True, "spec", POD_SAID),
        ("", "Pod", "spec.containers.0.command", ["x"], "spec", POD_SAID),
        (
            "",
            "Pod",
            "spec.containers",
            [],
            "spec.containers",
            "Forbidden: pod updates may not add or remove containers",
        ),
        ("", "Secret", "type", "kubernetes.io/tls", "type", SETTLED),
        (
            "",
            "PersistentVolumeClaim",
            "spec.accessModes",
            ["ReadWriteMany"],
            "spec",
            "Forbidden: spec is immutable after creation",
        ),
        (
            "",
            "PersistentVolume",
            "spec.hostPath.path",
            "/x",
            "spec.persistentvolumesource",
            "Forbidden: spec.persistentvolumesource is immutable after creation",
        ),
        (
            STORAGE,
            "StorageClass",
            "parameters",
            {"a": "b"},
            "parameters",
            "Forbidden: updates to parameters are forbidden.",
        ),
        (
            STORAGE,
            "StorageClass",
            "provisioner",
            "x",
            "provisioner",
            "Forbidden: updates to provisioner are forbidden.",
        ),
        (STORAGE, "StorageClass", "volumeBindingMode", "WaitForFirstConsumer", "volumeBindingMode", SETTLED),
        (RBAC, "RoleBinding", "roleRef.name", "edit", "roleRef", "cannot change roleRef"),
        (RBAC, "ClusterRoleBinding", "roleRef.name", "edit", "roleRef", "cannot change roleRef"),
        (NETWORKING, "IngressClass", "spec.controller", "a.io/b", "spec.controller", SETTLED),
        ("discovery.k8s.io", "EndpointSlice", "addressType", "IPv6", "addressType", SETTLED),
        ("scheduling.k8s.io", "PriorityClass", "value", 7, "value", "Forbidden: may not be changed in an update."),
    ],
)
def test_what_was_settled_stays(group: str, kind: str, path: str, value: Json, field: str, said: str) -> None:
    old = stored(group, kind)
    (refusal,) = refusals(group, kind, put(old, path, value), old)
    assert refusal.startswith(f"{field}: ")
    assert said in refusal


@pytest.mark.parametrize(
    ("group", "kind", "path", "value"),
    [
        ("apps", "Deployment", "spec.replicas", 5),
        ("apps", "Deployment", "spec.template.spec.containers.0.image", "nginx:2"),
        ("apps", "StatefulSet", "spec.replicas", 5),
        ("apps", "StatefulSet", "spec.template.spec.containers.0.image", "nginx:2"),
        ("batch", "Job", "spec.parallelism", 5),
        ("batch", "Job", "spec.suspend", True),
        ("batch", "CronJob", "spec.schedule", "@daily"),
        ("", "Pod", "spec.containers.0.image", "nginx:2"),
        ("", "Pod", "spec.activeDeadlineSeconds", 60),
        ("", "Pod", "spec.tolerations", [{"key": "a", "operator": "Exists"}]),
        ("", "Pod", "status.phase", "Running"),
        ("", "Pod", "spec.nodeSelector", {}),
        ("", "ConfigMap", "data", {"x": "y"}),
        ("", "ConfigMap", "immutable", True),
        ("", "PersistentVolumeClaim", "spec.volumeName", "pv"),
        (STORAGE, "StorageClass", "allowVolumeExpansion", True),
        (RBAC, "RoleBinding", "subjects", []),
    ],
)
def test_what_is_meant_to_change_may(group: str, kind: str, path: str, value: Json) -> None:
    old = stored(group, kind)
    assert refusals(group, kind, put(old, path, value), old) == []


@pytest.mark.parametrize("kind", ["ConfigMap", "Secret"])
def test_a_sealed_object_stays_sealed_and_as_it_is(kind: str) -> None:
    sealed = put(stored("", kind), "immutable", True)
    assert refusals("", kind, put(sealed, "metadata.labels", {"a": "b"}), sealed) == []
    opened = put(put(sealed, "immutable", False), "data", {"other": ""})
    said = "Forbidden: field is immutable when `immutable` is set"
    assert refusals("", kind, opened, sealed) == [f"immutable: {said}", f"data: {said}"]


def test_a_deadline_may_be_set_and_shortened_only() -> None:
    old = put(stored("", "Pod"), "spec.activeDeadlineSeconds", 60)
    assert refusals("", "Pod", put(old, "spec.activeDeadlineSeconds", 30), old) == []
    (longer,) = refusals("", "Pod", put(old, "spec.activeDeadlineSeconds", 90), old)
    assert longer == "spec.activeDeadlineSeconds: Invalid value: 90: must be less than or equal to previous value"
    (gone,) = refusals("", "Pod", put(old, "spec.activeDeadlineSeconds", None), old)
    assert gone.endswith("must not update from a positive integer to nil value")


def test_many_tolerations_are_compared_in_linear_time() -> None:
    many = [{"key": f"k{each}", "operator": "Exists", "tolerationSeconds": each} for each in range(15_000)]
    old = put(stored("", "Pod"), "spec.tolerations", many)
    new = put(old, "spec.tolerations", many[::-1])
    began = process_time()
    assert refusals("", "Pod", new, old) == []
    assert process_time() - began < 0.4


def test_a_toleration_may_be_added_and_never_taken_away() -> None:
    old = put(stored("", "Pod"), "spec.tolerations", [{"key": "a", "operator": "Exists", "tolerationSeconds": 5}])
    more = [{"key": "b", "operator": "Exists"}, {"key": "a", "operator": "Exists", "tolerationSeconds": 9}]
    assert refusals("", "Pod", put(old, "spec.tolerations", more), old) == []
    assert len(refusals("", "Pod", put(old, "spec.tolerations", []), old)) == 1


def test_scheduling_fields_of_a_gated_pod_may_change() -> None:
    gated = put(stored("", "Pod"), "spec.schedulingGates", [{"name": "g"}])
    freed = put(put(gated, "spec.schedulingGates", []), "spec.nodeSelector", {"zone": "a"})
    assert refusals("", "Pod", freed, gated) == []


def test_scheduling_fields_of_a_suspended_job_may_change() -> None:
    old = put(stored("batch", "Job"), "spec.suspend", True)
    new = put(old, "spec.template.spec.nodeSelector", {"zone": "a"})
    assert refusals("batch", "Job", new, old) == []
    assert len(refusals("batch", "Job", new, put(old, "status.startTime", "2026-01-02T03:04:05Z"))) == 1


def test_an_elastic_indexed_job_may_grow() -> None:
    old = put(stored("batch", "Job"), "spec.completionMode", "Indexed")
    both = put(put(old, "spec.completions", 4), "spec.parallelism", 4)
    assert refusals("batch", "Job", both, old) == []


@pytest.mark.parametrize(
    ("phase", "storage", "count"),
    [("Bound", "2Gi", 0), ("Bound", "500Mi", 1), ("Pending", "2Gi", 1), ("Bound", "1Gi", 0)],
)
def test_a_claim_may_grow_once_it_is_bound(phase: str, storage: str, count: int) -> None:
    old = put(stored("", "PersistentVolumeClaim"), "status", {"phase": phase, "capacity": {"storage": "1Gi"}})
    new = put(old, "spec.resources.requests.storage", storage)
    assert len(refusals("", "PersistentVolumeClaim", new, old)) == count


def test_an_address_that_was_given_stays() -> None:
    old = put(stored("", "Service"), "spec.clusterIP", "10.0.0.1")
    (refusal,) = refusals("", "Service", put(old, "spec.clusterIP", "10.0.0.2"), old)
    assert refusal == 'spec.clusterIPs[0]: Invalid value: ["10.0.0.2"]: may not change once set'
    named = put(put(old, "spec.clusterIP", ""), "spec.type", "ExternalName")
    assert refusals("", "Service", named, old) == []
    assert (
        refusals("", "Service", put(stored("", "Service"), "spec.clusterIP", "10.0.0.2"), stored("", "Service")) == []
    )

"""What `kubectl get` and `kubectl get -o wide` show of each built-in kind."""

from __future__ import annotations

import pytest

from homeostat.objects.json import Json, JsonObject
from homeostat.objects.time.age import epoch_of
from homeostat.server.view.table import columns_of
from tests.server.kinds.builtins.manifests import (
    ADMISSION,
    CREATED,
    GOOD,
    NETWORKING,
    RBAC,
    SELECTOR,
    STORAGE,
    defaulted,
    meta,
    template,
)

NOW = (epoch_of(CREATED) or 0.0) + 300


def headers(group: str, kind: str, *, wide: bool) -> list[str]:
    """As kubectl prints them."""
    columns = columns_of(group, kind).columns
    return [each.name.upper() for each in columns if wide or not each.priority]


def row(group: str, kind: str, obj: JsonObject) -> list[Json]:
    return columns_of(group, kind).cells(obj, NOW)


@pytest.mark.parametrize(
    ("group", "kind", "default", "wide"),
    [
        ("", "Pod", "NAME READY STATUS RESTARTS AGE", "IP NODE NOMINATED_NODE READINESS_GATES"),
        ("", "PodTemplate", "NAME CONTAINERS IMAGES POD_LABELS", ""),
        ("apps", "Deployment", "NAME READY UP-TO-DATE AVAILABLE AGE", "CONTAINERS IMAGES SELECTOR"),
        ("apps", "ReplicaSet", "NAME DESIRED CURRENT READY AGE", "CONTAINERS IMAGES SELECTOR"),
        ("", "ReplicationController", "NAME DESIRED CURRENT READY AGE", "CONTAINERS IMAGES SELECTOR"),
        ("apps", "StatefulSet", "NAME READY AGE", "CONTAINERS IMAGES"),
        (
            "apps",
            "DaemonSet",
            "NAME DESIRED CURRENT READY UP-TO-DATE AVAILABLE NODE_SELECTOR AGE",
            "CONTAINERS IMAGES SELECTOR",
        ),
        ("apps", "ControllerRevision", "NAME CONTROLLER REVISION AGE", ""),
        ("batch", "Job", "NAME STATUS COMPLETIONS DURATION AGE", "CONTAINERS IMAGES SELECTOR"),
        (
            "batch",
            "CronJob",
            "NAME SCHEDULE TIMEZONE SUSPEND ACTIVE LAST_SCHEDULE AGE",
            "CONTAINERS IMAGES SELECTOR",
        ),
        ("", "Service", "NAME TYPE CLUSTER-IP EXTERNAL-IP PORT(S) AGE", "SELECTOR"),
        ("", "Endpoints", "NAME ENDPOINTS AGE", ""),
        ("discovery.k8s.io", "EndpointSlice", "NAME ADDRESSTYPE PORTS ENDPOINTS AGE", ""),
        (NETWORKING, "Ingress", "NAME CLASS HOSTS ADDRESS PORTS AGE", ""),
        (NETWORKING, "IngressClass", "NAME CONTROLLER PARAMETERS AGE", ""),
        (NETWORKING, "NetworkPolicy", "NAME POD-SELECTOR AGE", ""),
        ("autoscaling", "HorizontalPodAutoscaler", "NAME REFERENCE TARGETS MINPODS MAXPODS REPLICAS AGE", ""),
        ("policy", "PodDisruptionBudget", "NAME MIN_AVAILABLE MAX_UNAVAILABLE ALLOWED_DISRUPTIONS AGE", ""),
        ("", "Namespace", "NAME STATUS AGE", ""),
        ("", "ConfigMap", "NAME DATA AGE", ""),
        ("", "Secret", "NAME TYPE DATA AGE", ""),
        ("", "ServiceAccount", "NAME SECRETS AGE", ""),
        (
            "",
            "Node",
            "NAME STATUS ROLES AGE VERSION",
            "INTERNAL-IP EXTERNAL-IP OS-IMAGE KERNEL-VERSION CONTAINER-RUNTIME",
        ),
        (
            "",
            "PersistentVolume",
            "NAME CAPACITY ACCESS_MODES RECLAIM_POLICY STATUS CLAIM STORAGECLASS VOLUMEATTRIBUTESCLASS REASON AGE",
            "VOLUMEMODE",
        ),
        (
            "",
            "PersistentVolumeClaim",
            "NAME STATUS VOLUME CAPACITY ACCESS_MODES STORAGECLASS VOLUMEATTRIBUTESCLASS AGE",
            "VOLUMEMODE",
        ),
        (
            STORAGE,
            "StorageClass",
            "NAME PROVISIONER RECLAIMPOLICY VOLUMEBINDINGMODE ALLOWVOLUMEEXPANSION AGE",
            "",
        ),
        ("", "ResourceQuota", "NAME REQUEST LIMIT AGE", ""),
        ("", "LimitRange", "NAME CREATED_AT", ""),
        ("coordination.k8s.io", "Lease", "NAME HOLDER AGE", ""),
        ("scheduling.k8s.io", "PriorityClass", "NAME VALUE GLOBAL-DEFAULT AGE PREEMPTIONPOLICY", ""),
        (RBAC, "Role", "NAME CREATED_AT", ""),
        (RBAC, "ClusterRole", "NAME CREATED_AT", ""),
        (RBAC, "RoleBinding", "NAME ROLE AGE", "USERS GROUPS SERVICEACCOUNTS"),
        (RBAC, "ClusterRoleBinding", "NAME ROLE AGE", "USERS GROUPS SERVICEACCOUNTS"),
        ("apiextensions.k8s.io", "CustomResourceDefinition", "NAME CREATED_AT", ""),
        (ADMISSION, "MutatingWebhookConfiguration", "NAME WEBHOOKS AGE", ""),
        (ADMISSION, "ValidatingAdmissionPolicy", "NAME VALIDATIONS PARAMKIND AGE", ""),
        (ADMISSION, "ValidatingAdmissionPolicyBinding", "NAME POLICYNAME PARAMREF AGE", ""),
    ],
)
def test_headers_are_kubectls(group: str, kind: str, default: str, wide: str) -> None:
    expected = [each.replace("_", " ") for each in default.split()]
    assert headers(group, kind, wide=False) == expected
    assert headers(group, kind, wide=True) == expected + [each.replace("_", " ") for each in wide.split()]


def test_events_put_when_and_what_first() -> None:
    for group in ("", "events.k8s.io"):
        assert headers(group, "Event", wide=False) == ["LAST SEEN", "TYPE", "REASON", "OBJECT", "MESSAGE"]
        assert headers(group, "Event", wide=True) == [
            "LAST SEEN",
            "TYPE",
            "REASON",
            "OBJECT",
            "SUBOBJECT",
            "SOURCE",
            "MESSAGE",
            "FIRST SEEN",
            "COUNT",
            "NAME",
        ]


@pytest.mark.parametrize(("group", "kind"), GOOD)
def test_a_row_has_a_cell_for_each_column(group: str, kind: str) -> None:
    assert len(row(group, kind, defaulted(group, kind, GOOD[group, kind]))) == len(columns_of(group, kind).columns)


def workload(kind: str, spec: JsonObject, status: JsonObject, group: str = "apps") -> list[Json]:
    body = {"metadata": meta(), "spec": {"selector": SELECTOR, "template": template(), **spec}, "status": status}
    return row(group, kind, body)


CONTAINERS = ["app", "nginx:1.25"]


def test_workloads_count_their_pods() -> None:
    status = {"readyReplicas": 2, "updatedReplicas": 3, "availableReplicas": 1, "replicas": 4}
    assert workload("Deployment", {"replicas": 3}, status) == ["web", "2/3", 3, 1, "5m", *CONTAINERS, "app=web"]
    assert workload("ReplicaSet", {"replicas": 3}, status) == ["web", 3, 4, 2, "5m", *CONTAINERS, "app=web"]
    assert workload("StatefulSet", {"replicas": 3}, status) == ["web", "2/3", "5m", *CONTAINERS]
    daemon = {"desiredNumberScheduled": 5, "currentNumberScheduled": 4, "numberReady": 3, "numberAvailable": 2}
    assert workload("DaemonSet", {}, daemon) == ["web", 5, 4, 3, 0, 2, "<none>", "5m", *CONTAINERS, "app=web"]
    legacy = workload("ReplicationController", {"replicas": 1, "selector": {"b": "c", "a": "b"}}, {}, group="")
    assert legacy == ["web", 1, 0, 0, "5m", *CONTAINERS, "a=b,b=c"]


def test_selectors_print_ordered_by_key() -> None:
    selector = {
        "matchLabels": {"m": "1"},
        "matchExpressions": [
            {"key": "z", "operator": "In", "values": ["b", "a"]},
            {"key": "y", "operator": "NotIn", "values": ["c"]},
            {"key": "b", "operator": "Exists"},
            {"key": "a", "operator": "DoesNotExist"},
        ],
    }
    assert workload("Deployment", {"selector": selector}, {})[-1] == "!a,b,m=1,y notin (c),z in (a,b)"


@pytest.mark.parametrize(
    ("spec", "status", "shown"),
    [
        ({"completions": 3}, {"succeeded": 1}, ["Running", "1/3", ""]),
        ({"parallelism": 4}, {}, ["Running", "0/1 of 4", ""]),
        ({"parallelism": 1}, {"startTime": "2026-01-02T03:04:35Z"}, ["Running", "0/1", "4m30s"]),
        (
            {"completions": 1},
            {
                "succeeded": 1,
                "startTime": CREATED,
                "completionTime": "2026-01-02T03:04:15Z",
                "conditions": [{"type": "Complete", "status": "True"}],
            },
            ["Complete", "1/1", "10s"],
        ),
        ({"completions": 1}, {"conditions": [{"type": "Failed", "status": "True"}]}, ["Failed", "0/1", ""]),
        ({"completions": 1}, {"conditions": [{"type": "Suspended", "status": "True"}]}, ["Suspended", "0/1", ""]),
    ],
)
def test_a_job_shows_how_far_it_is(spec: JsonObject, status: JsonObject, shown: list[str]) -> None:
    assert workload("Job", spec, status, group="batch")[1:4] == shown


def test_a_cron_job_shows_when_it_ran() -> None:
    obj = defaulted("batch", "CronJob", GOOD["batch", "CronJob"])
    assert row("batch", "CronJob", obj)[:7] == ["web", "*/5 * * * *", "<none>", "False", 0, "<none>", "5m"]
    obj["status"] = {"lastScheduleTime": "2026-01-02T03:08:05Z", "active": [{}]}
    obj["spec"].update(timeZone="Etc/UTC", suspend=True)
    assert row("batch", "CronJob", obj)[2:6] == ["Etc/UTC", "True", 1, "60s"]


@pytest.mark.parametrize(
    ("spec", "status", "expected"),
    [
        ({"type": "ClusterIP"}, {}, ["ClusterIP", "<none>", "<none>", "80/TCP"]),
        ({"clusterIPs": ["None"], "type": "ClusterIP"}, {}, ["ClusterIP", "None", "<none>", "80/TCP"]),
        ({"type": "NodePort", "externalIPs": ["1.2.3.4"]}, {}, ["NodePort", "<none>", "1.2.3.4", "80/TCP"]),
        ({"type": "LoadBalancer"}, {}, ["LoadBalancer", "<none>", "<pending>", "80/TCP"]),
        (
            {"type": "LoadBalancer", "ports": [{"port": 80, "nodePort": 30080, "protocol": "TCP"}]},
            {"loadBalancer": {"ingress": [{"hostname": "b.example"}, {"ip": "1.1.1.1"}]}},
            ["LoadBalancer", "<none>", "1.1.1.1,b.example", "80:30080/TCP"],
        ),
        (
            {"type": "ExternalName", "externalName": "x.example", "ports": []},
            {},
            ["ExternalName", "<none>", "x.example", "<none>"],
        ),
    ],
)
def test_a_service_shows_how_it_is_reached(spec: JsonObject, status: JsonObject, expected: list[str]) -> None:
    obj = {"metadata": meta(), "spec": {"ports": [{"port": 80, "protocol": "TCP"}], **spec}, "status": status}
    assert row("", "Service", obj)[1:5] == expected


def test_endpoints_show_three_and_count_the_rest() -> None:
    addresses = [{"ip": f"10.0.0.{each}"} for each in range(1, 6)]
    obj = {"metadata": meta(), "subsets": [{"addresses": addresses, "ports": [{"port": 80}]}]}
    assert row("", "Endpoints", obj)[1] == "10.0.0.1:80,10.0.0.2:80,10.0.0.3:80 + 2 more..."
    assert row("", "Endpoints", {"metadata": meta()})[1] == "<none>"
    six = {"metadata": meta(), "subsets": [{"addresses": [{"ip": "fd00::1"}], "ports": [{"port": 80}]}]}
    assert row("", "Endpoints", six)[1] == "[fd00::1]:80"


def test_an_endpoint_slice_without_ports_says_so() -> None:
    obj = {"metadata": meta(), "addressType": "IPv4", "endpoints": [{"addresses": ["10.0.0.1", "10.0.0.2"]}]}
    assert row("discovery.k8s.io", "EndpointSlice", obj)[1:4] == ["IPv4", "<unset>", "10.0.0.1,10.0.0.2"]


def test_an_ingress_shows_hosts_and_ports() -> None:
    rules = [{"host": f"{each}.example"} for each in "abcd"]
    spec = {"ingressClassName": "nginx", "rules": rules, "tls": [{}]}
    obj = {"metadata": meta(), "spec": spec, "status": {"loadBalancer": {"ingress": [{"ip": "1.2.3.4"}]}}}
    hosts = "a.example,b.example,c.example + 1 more..."
    assert row(NETWORKING, "Ingress", obj) == ["web", "nginx", hosts, "1.2.3.4", "80, 443", "5m"]
    assert row(NETWORKING, "Ingress", {"metadata": meta()}) == ["web", "<none>", "*", "", "80", "5m"]


CPU = {"type": "Resource", "resource": {"name": "cpu", "target": {"averageUtilization": 80}}}


@pytest.mark.parametrize(
    ("metrics", "current", "shown"),
    [
        ([], [], "<none>"),
        ([CPU], [], "cpu: <unknown>/80%"),
        ([CPU], [{"type": "Resource", "resource": {"current": {"averageUtilization": 35}}}], "cpu: 35%/80%"),
        ([{"type": "Pods", "pods": {"target": {"averageValue": "10"}}}], [], "<unknown>/10"),
        (
            [{"type": "External", "external": {"target": {"averageValue": "5"}}}],
            [{"external": {"current": {"averageValue": "2"}}}],
            "2/5 (avg)",
        ),
        ([{"type": "Object", "object": {"target": {"value": "7"}}}], [], "<unknown>/7"),
        ([CPU, CPU, CPU], [], "cpu: <unknown>/80%, cpu: <unknown>/80% + 1 more..."),
    ],
)
def test_an_autoscaler_shows_each_metric_and_its_target(metrics: list[Json], current: list[Json], shown: str) -> None:
    spec = {"scaleTargetRef": {"kind": "Deployment", "name": "web"}, "maxReplicas": 4, "metrics": metrics}
    obj = {"metadata": meta(), "spec": spec, "status": {"currentMetrics": current, "currentReplicas": 2}}
    cells = row("autoscaling", "HorizontalPodAutoscaler", obj)
    assert cells == ["web", "Deployment/web", shown, "<unset>", 4, 2, "5m"]


def test_a_v1_autoscaler_shows_its_cpu_target() -> None:
    spec = {"scaleTargetRef": {}, "maxReplicas": 4, "targetCPUUtilizationPercentage": 60}
    obj = {"apiVersion": "autoscaling/v1", "metadata": meta(), "spec": spec}
    assert row("autoscaling", "HorizontalPodAutoscaler", obj)[2] == "cpu: <unknown>/60%"


def test_volumes_and_claims_show_what_they_are_bound_to() -> None:
    spec = {
        "capacity": {"storage": "1Gi"},
        "accessModes": ["ReadWriteMany", "ReadWriteOnce"],
        "persistentVolumeReclaimPolicy": "Retain",
        "claimRef": {"namespace": "default", "name": "data"},
        "storageClassName": "fast",
        "volumeMode": "Filesystem",
    }
    volume = {"metadata": meta(), "spec": spec, "status": {"phase": "Bound"}}
    modes = ["1Gi", "RWO,RWX"]
    bound = ["Retain", "Bound", "default/data", "fast", "<unset>", "", "5m", "Filesystem"]
    assert row("", "PersistentVolume", volume) == ["web", *modes, *bound]
    claim = {
        "metadata": meta(deletionTimestamp=CREATED),
        "spec": {"volumeName": "pv", "storageClassName": "fast"},
        "status": {"phase": "Bound", "capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOncePod"]},
    }
    cells = ["web", "Terminating", "pv", "1Gi", "RWOP", "fast", "<unset>", "5m", "<unset>"]
    assert row("", "PersistentVolumeClaim", claim) == cells
    claim["spec"] = {}
    assert row("", "PersistentVolumeClaim", claim)[2:5] == ["", "", ""]


def test_the_default_storage_class_is_marked() -> None:
    annotations = {"storageclass.kubernetes.io/is-default-class": "true"}
    obj = {"metadata": meta(annotations=annotations), "provisioner": "p"}
    assert row(STORAGE, "StorageClass", obj) == ["web (default)", "p", "Delete", "Immediate", False, "5m"]


def test_a_node_shows_status_roles_and_addresses() -> None:
    node = {
        "metadata": meta(labels={"node-role.kubernetes.io/control-plane": "", "kubernetes.io/role": "edge"}),
        "spec": {"unschedulable": True},
        "status": {
            "conditions": [{"type": "Ready", "status": "False"}],
            "nodeInfo": {"kubeletVersion": "v1.33.0", "osImage": "Debian"},
            "addresses": [{"type": "InternalIP", "address": "10.0.0.9"}],
        },
    }
    cells = ["web", "NotReady,SchedulingDisabled", "control-plane,edge", "5m", "v1.33.0", "10.0.0.9", "<none>"]
    assert row("", "Node", node) == [*cells, "Debian", "<unknown>", "<unknown>"]
    assert row("", "Node", {"metadata": meta()})[1:3] == ["Unknown", "<none>"]


EVENT = {
    "metadata": meta(),
    "involvedObject": {"kind": "Pod", "name": "web", "fieldPath": "spec.containers{app}"},
    "type": "Normal",
    "reason": "Pulled",
    "message": "done \n",
    "source": {"component": "kubelet", "host": "n1"},
    "firstTimestamp": CREATED,
    "lastTimestamp": "2026-01-02T03:08:05Z",
    "count": 3,
}


def test_an_event_shows_when_it_was_last_seen() -> None:
    about = ["Normal", "Pulled", "pod/web", "spec.containers{app}", "kubelet, n1", "done"]
    assert row("", "Event", EVENT) == ["60s", *about, "5m", 3, "web"]


def test_a_series_says_when_and_how_often() -> None:
    series = {"count": 9, "lastObservedTime": "2026-01-02T03:09:00.000000Z"}
    cells = row("", "Event", {**EVENT, "series": series})
    assert (cells[0], cells[8]) == ("5s", 9)


def test_an_event_of_the_new_kind_shows_the_same() -> None:
    event = {
        "apiVersion": "events.k8s.io/v1",
        "metadata": meta(),
        "regarding": {"kind": "Pod", "name": "web"},
        "note": "done",
        "type": "Normal",
        "reason": "Pulled",
        "eventTime": "2026-01-02T03:04:05.000000Z",
        "reportingController": "c",
        "reportingInstance": "i",
    }
    assert row("events.k8s.io", "Event", event) == [
        "5m",
        "Normal",
        "Pulled",
        "pod/web",
        "",
        "c, i",
        "done",
        "5m",
        1,
        "web",
    ]


def test_small_kinds_show_their_one_fact() -> None:
    assert row("", "Namespace", {"metadata": meta(), "status": {"phase": "Active"}}) == ["web", "Active", "5m"]
    assert row("", "ConfigMap", {"metadata": meta(), "data": {"a": ""}, "binaryData": {"b": ""}}) == ["web", 2, "5m"]
    assert row("", "Secret", {"metadata": meta(), "type": "Opaque", "data": {"a": ""}}) == ["web", "Opaque", 1, "5m"]
    assert row("", "ServiceAccount", {"metadata": meta()}) == ["web", 0, "5m"]
    lease = {"metadata": meta(), "spec": {"holderIdentity": "me"}}
    assert row("coordination.k8s.io", "Lease", lease) == ["web", "me", "5m"]
    budget = {"metadata": meta(), "spec": {"minAvailable": 1}, "status": {"disruptionsAllowed": 2}}
    assert row("policy", "PodDisruptionBudget", budget) == ["web", "1", "N/A", 2, "5m"]
    policy = {"metadata": meta(), "spec": {"podSelector": {}}}
    assert row(NETWORKING, "NetworkPolicy", policy) == ["web", "<none>", "5m"]
    assert row(RBAC, "Role", {"metadata": meta()}) == ["web", CREATED]
    assert row(ADMISSION, "MutatingWebhookConfiguration", {"metadata": meta(), "webhooks": [{}]}) == ["web", 1, "5m"]


def test_a_quota_shows_requests_and_limits_apart() -> None:
    status = {"hard": {"pods": "10", "limits.cpu": "4", "cpu": "2"}, "used": {"pods": "3", "cpu": "1"}}
    cells = row("", "ResourceQuota", {"metadata": meta(), "status": status})
    assert cells == ["web", "cpu: 1/2, pods: 3/10", "limits.cpu: 0/4", "5m"]


def test_a_binding_names_its_subjects() -> None:
    subjects = [
        {"kind": "User", "name": "ada"},
        {"kind": "User", "name": "bob"},
        {"kind": "Group", "name": "team"},
        {"kind": "ServiceAccount", "name": "bot", "namespace": "ci"},
    ]
    obj = {"metadata": meta(), "roleRef": {"kind": "Role", "name": "view"}, "subjects": subjects}
    assert row(RBAC, "RoleBinding", obj) == ["web", "Role/view", "5m", "ada, bob", "team", "ci/bot"]


def test_a_revision_names_its_controller() -> None:
    owner = {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "db", "controller": True}
    obj = {"metadata": meta(ownerReferences=[owner]), "revision": 2}
    assert row("apps", "ControllerRevision", obj) == ["web", "statefulset.apps/db", 2, "5m"]


def test_an_object_without_a_creation_time_has_an_unknown_age() -> None:
    assert row("", "ServiceAccount", {"metadata": {"name": "x"}}) == ["x", 0, "<unknown>"]

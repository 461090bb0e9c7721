"""What the server refuses of core kinds, storage, leases, events and priorities, in Kubernetes' words."""

from __future__ import annotations

import pytest

from homeostat.objects.json import Json
from homeostat.server.kinds.builtins.checks import check
from tests.server.kinds.builtins.manifests import ABSENT, GOOD, STORAGE, defaulted, put, told


@pytest.mark.parametrize(
    ("group", "kind", "path", "value", "expected"),
    [
        (
            "",
            "ConfigMap",
            "data",
            {"a b": ""},
            (
                "data[a b]: Invalid value: \"a b\": a valid config key must consist of alphanumeric characters, '-', "
                "'_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is "
                "'[-._a-zA-Z0-9]+')"
            ),
        ),
        ("", "ConfigMap", "data", {"a": "x" * 1048577}, "[]: Too long: may not be more than 1048576 bytes"),
        (
            "",
            "ConfigMap",
            "binaryData",
            {"a": ""},
            'data[a]: Invalid value: "a": duplicate of key present in binaryData',
        ),
        ("", "Secret", "stringData", {"a": "x" * 1048577}, "data: Too long: may not be more than 1048576 bytes"),
        ("", "Secret", "type", "kubernetes.io/ssh-auth", "data[ssh-privatekey]: Required value"),
        (
            "",
            "Secret",
            "type",
            "kubernetes.io/service-account-token",
            "metadata.annotations[kubernetes.io/service-account.name]: Required value",
        ),
        (
            "",
            "Namespace",
            "spec",
            {"finalizers": ["mine"]},
            'spec.finalizers: Invalid value: "mine": name is neither a standard finalizer name nor',
        ),
        (
            "",
            "PersistentVolumeClaim",
            "spec.accessModes",
            [],
            "spec.accessModes: Required value: at least 1 access mode is required",
        ),
        ("", "PersistentVolumeClaim", "spec.resources", {}, "spec.resources[storage]: Required value"),
        ("", "PersistentVolume", "spec.hostPath", ABSENT, "spec: Required value: must specify a volume type"),
        ("", "PersistentVolume", "spec.capacity", ABSENT, "spec.capacity: Required value"),
        (
            "",
            "LimitRange",
            "spec.limits.0.min",
            {"cpu": "3"},
            'spec.limits[0].min[cpu]: Invalid value: "3": min value 3 is greater than max value 2',
        ),
        (
            "",
            "Event",
            "involvedObject.namespace",
            "other",
            'involvedObject.namespace: Invalid value: "other": does not match event.namespace',
        ),
        ("events.k8s.io", "Event", "action", ABSENT, "action: Required value"),
        (STORAGE, "StorageClass", "provisioner", "", "provisioner: Required value"),
        (
            STORAGE,
            "StorageClass",
            "reclaimPolicy",
            "Burn",
            'reclaimPolicy: Unsupported value: "Burn": supported values: "Delete", "Retain"',
        ),
        (
            "coordination.k8s.io",
            "Lease",
            "spec.leaseDurationSeconds",
            0,
            "spec.leaseDurationSeconds: Invalid value: 0: must be greater than 0",
        ),
        (
            "scheduling.k8s.io",
            "PriorityClass",
            "value",
            1000000001,
            "value: Forbidden: maximum allowed value of a user defined priority is 1000000000",
        ),
    ],
)
def test_one_wrong_member_is_refused(group: str, kind: str, path: str, value: Json, expected: str) -> None:
    obj = defaulted(group, kind, put(GOOD[group, kind], path, value), uid="u-1")
    assert told(check(group, kind, obj))[0].startswith(expected)

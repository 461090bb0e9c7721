"""What the server refuses of pods, in Kubernetes' words."""

from __future__ import annotations

import pytest

from homeostat.objects.json import Json
from homeostat.server.kinds.builtins.checks import check
from tests.server.kinds.builtins.manifests import GOOD, defaulted, put, told

CONTAINER = "spec.containers.0"
LABEL = "a lowercase RFC 1123 label must consist of"


@pytest.mark.parametrize(
    ("group", "kind", "path", "value", "expected"),
    [
        ("", "Pod", f"{CONTAINER}.image", "", "spec.containers[0].image: Required value"),
        (
            "",
            "Pod",
            f"{CONTAINER}.image",
            " x",
            'spec.containers[0].image: Invalid value: " x": must not have leading or trailing whitespace',
        ),
        ("", "Pod", f"{CONTAINER}.name", "", "spec.containers[0].name: Required value"),
        ("", "Pod", f"{CONTAINER}.name", "A", f'spec.containers[0].name: Invalid value: "A": {LABEL}'),
        (
            "",
            "Pod",
            "spec.initContainers",
            [{"name": "app", "image": "i"}],
            'spec.initContainers[0].name: Duplicate value: "app"',
        ),
        (
            "",
            "Pod",
            f"{CONTAINER}.ports",
            [{"containerPort": 70000}],
            "spec.containers[0].ports[0].containerPort: Invalid value: 70000: must be between 1 and 65535, inclusive",
        ),
        ("", "Pod", f"{CONTAINER}.ports", [{}], "spec.containers[0].ports[0].containerPort: Required value"),
        (
            "",
            "Pod",
            f"{CONTAINER}.ports",
            [{"containerPort": 1, "name": "a"}, {"containerPort": 2, "name": "a"}],
            'spec.containers[0].ports[1].name: Duplicate value: "a"',
        ),
        (
            "",
            "Pod",
            f"{CONTAINER}.ports",
            [{"containerPort": 1, "protocol": "ICMP"}],
            'spec.containers[0].ports[0].protocol: Unsupported value: "ICMP": supported values: "SCTP", "TCP", "UDP"',
        ),
        ("", "Pod", f"{CONTAINER}.env", [{"value": "x"}], "spec.containers[0].env[0].name: Required value"),
        (
            "",
            "Pod",
            f"{CONTAINER}.env",
            [{"name": "A", "value": "x", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}],
            'spec.containers[0].env[0].valueFrom: Invalid value: "": may not be specified when `value` is not empty',
        ),
        (
            "",
            "Pod",
            f"{CONTAINER}.env",
            [{"name": "A", "valueFrom": {"secretKeyRef": {"name": "s"}}}],
            "spec.containers[0].env[0].valueFrom.secretKeyRef.key: Required value",
        ),
        (
            "",
            "Pod",
            f"{CONTAINER}.volumeMounts",
            [{"name": "v", "mountPath": "/v"}],
            'spec.containers[0].volumeMounts[0].name: Not found: "v"',
        ),
        (
            "",
            "Pod",
            f"{CONTAINER}.resources",
            {"requests": {"cpu": "2"}, "limits": {"cpu": "1"}},
            'spec.containers[0].resources.requests: Invalid value: "2": must be less than or equal to cpu limit of 1',
        ),
        (
            "",
            "Pod",
            f"{CONTAINER}.resources",
            {"limits": {"cpu": "one"}},
            'spec.containers[0].resources.limits[cpu]: Invalid value: "one": quantities must match',
        ),
        (
            "",
            "Pod",
            f"{CONTAINER}.resources",
            {"limits": {"cpu": "-1"}},
            'spec.containers[0].resources.limits[cpu]: Invalid value: "-1": must be greater than or equal to 0',
        ),
        (
            "",
            "Pod",
            f"{CONTAINER}.livenessProbe",
            {},
            "spec.containers[0].livenessProbe: Required value: must specify a handler type",
        ),
        (
            "",
            "Pod",
            f"{CONTAINER}.livenessProbe",
            {"tcpSocket": {"port": 80}, "successThreshold": 2},
            "spec.containers[0].livenessProbe.successThreshold: Invalid value: 2: must be 1",
        ),
        (
            "",
            "Pod",
            f"{CONTAINER}.imagePullPolicy",
            "Often",
            (
                'spec.containers[0].imagePullPolicy: Unsupported value: "Often": supported values: "Always", '
                '"IfNotPresent", "Never"'
            ),
        ),
        (
            "",
            "Pod",
            "spec.restartPolicy",
            "Perhaps",
            'spec.restartPolicy: Unsupported value: "Perhaps": supported values: "Always", "Never", "OnFailure"',
        ),
        (
            "",
            "Pod",
            "spec.volumes",
            [{"name": "v", "emptyDir": {}, "hostPath": {"path": "/"}}],
            "spec.volumes[0].hostPath: Forbidden: may not specify more than 1 volume type",
        ),
        (
            "",
            "Pod",
            "spec.volumes",
            [{"name": "v", "secret": {}}],
            "spec.volumes[0].secret.secretName: Required value",
        ),
        ("", "Pod", "spec.volumes", [{"name": "v"}, {"name": "v"}], 'spec.volumes[1].name: Duplicate value: "v"'),
        (
            "",
            "Pod",
            "spec.tolerations",
            [{"operator": "Equal"}],
            'spec.tolerations[0].operator: Invalid value: "Equal": operator must be Exists when `key` is empty',
        ),
    ],
)
def test_one_wrong_member_is_refused(group: str, kind: str, path: str, value: Json, expected: str) -> None:
    obj = defaulted(group, kind, put(GOOD[group, kind], path, value), uid="u-1")
    assert told(check(group, kind, obj))[0].startswith(expected)

"""What the server refuses of apps, batch, disruption budgets and autoscalers, in Kubernetes' words."""

from __future__ import annotations

import pytest

from homeostat.objects.json import Json
from homeostat.server.kinds.builtins.checks import check
from tests.server.kinds.builtins.manifests import ABSENT, GOOD, defaulted, put, told

POD = "spec.template.spec"


@pytest.mark.parametrize(
    ("group", "kind", "path", "value", "expected"),
    [
        (
            "apps",
            "Deployment",
            "spec.replicas",
            -1,
            "spec.replicas: Invalid value: -1: must be greater than or equal to 0",
        ),
        ("apps", "Deployment", "spec.selector", ABSENT, "spec.selector: Required value"),
        (
            "apps",
            "Deployment",
            "spec.selector",
            {},
            "spec.selector: Invalid value: {}: empty selector is invalid for deployment",
        ),
        (
            "apps",
            "Deployment",
            "spec.template.metadata.labels",
            {"app": "db"},
            'spec.template.metadata.labels: Invalid value: {"app":"db"}: `selector` does not match template `labels`',
        ),
        ("apps", "Deployment", f"{POD}.containers", [], "spec.template.spec.containers: Required value"),
        (
            "apps",
            "Deployment",
            f"{POD}.restartPolicy",
            "Never",
            'spec.template.spec.restartPolicy: Unsupported value: "Never": supported values: "Always"',
        ),
        (
            "apps",
            "Deployment",
            f"{POD}.activeDeadlineSeconds",
            5,
            "spec.template.spec.activeDeadlineSeconds: Forbidden: activeDeadlineSeconds in Deployment is not Supported",
        ),
        (
            "apps",
            "Deployment",
            "spec.strategy",
            {"type": "Recreate", "rollingUpdate": {}},
            "spec.strategy.rollingUpdate: Forbidden: may not be specified when strategy `type` is 'Recreate'",
        ),
        (
            "apps",
            "Deployment",
            "spec.strategy",
            {"rollingUpdate": {"maxUnavailable": 0, "maxSurge": 0}},
            "spec.strategy.rollingUpdate.maxUnavailable: Invalid value: 0: may not be 0 when `maxSurge` is 0",
        ),
        (
            "apps",
            "Deployment",
            "spec.strategy",
            {"rollingUpdate": {"maxUnavailable": "101%"}},
            'spec.strategy.rollingUpdate.maxUnavailable: Invalid value: "101%": must not be greater than 100%',
        ),
        (
            "apps",
            "Deployment",
            "spec.minReadySeconds",
            600,
            "spec.progressDeadlineSeconds: Invalid value: 600: must be greater than minReadySeconds",
        ),
        (
            "apps",
            "StatefulSet",
            "spec.podManagementPolicy",
            "Any",
            "spec.podManagementPolicy: Invalid value: \"Any\": must be 'OrderedReady' or 'Parallel'",
        ),
        (
            "apps",
            "StatefulSet",
            "spec.volumeClaimTemplates",
            [],
            'spec.template.spec.containers[0].volumeMounts[0].name: Not found: "data"',
        ),
        ("apps", "ControllerRevision", "data", ABSENT, "data: Required value: data is mandatory"),
        (
            "batch",
            "Job",
            "spec",
            {"completionMode": "Indexed", "completions": -1},
            "spec.completions: Invalid value: -1: must be greater than or equal to 0",
        ),
        (
            "batch",
            "Job",
            f"{POD}.restartPolicy",
            "Always",
            'spec.template.spec.restartPolicy: Required value: valid values: "OnFailure", "Never"',
        ),
        (
            "batch",
            "CronJob",
            "spec.schedule",
            "* * * *",
            'spec.schedule: Invalid value: "* * * *": expected exactly 5 fields, found 4: [* * * *]',
        ),
        (
            "batch",
            "CronJob",
            "spec.schedule",
            "61 * * * *",
            'spec.schedule: Invalid value: "61 * * * *": end of range (61) above maximum (59): 61',
        ),
        (
            "batch",
            "CronJob",
            "spec.concurrencyPolicy",
            "Maybe",
            'spec.concurrencyPolicy: Unsupported value: "Maybe": supported values: "Allow", "Forbid", "Replace"',
        ),
        (
            "batch",
            "CronJob",
            "spec.timeZone",
            "Local",
            (
                'spec.timeZone: Invalid value: "Local": timeZone must be an explicit time zone as defined in '
                "https://www.iana.org/time-zones"
            ),
        ),
        (
            "batch",
            "CronJob",
            "spec.timeZone",
            "bad-time-zone",
            'spec.timeZone: Invalid value: "bad-time-zone": unknown time zone bad-time-zone',
        ),
        (
            "batch",
            "CronJob",
            "spec.timeZone",
            "a" + "/b" * 500,
            'spec.timeZone: Invalid value: "a/b/b/b',
        ),
        (
            "policy",
            "PodDisruptionBudget",
            "spec",
            {"minAvailable": 1, "maxUnavailable": 1},
            (
                'spec: Invalid value: {"minAvailable":1,"maxUnavailable":1}: minAvailable and maxUnavailable cannot be '
                "both set"
            ),
        ),
        (
            "autoscaling",
            "HorizontalPodAutoscaler",
            "spec.minReplicas",
            9,
            "spec.maxReplicas: Invalid value: 5: must be greater than or equal to `minReplicas`",
        ),
        (
            "autoscaling",
            "HorizontalPodAutoscaler",
            "spec.scaleTargetRef.name",
            "",
            "spec.scaleTargetRef.name: Required value",
        ),
    ],
)
def test_one_wrong_member_is_refused(group: str, kind: str, path: str, value: Json, expected: str) -> None:
    obj = defaulted(group, kind, put(GOOD[group, kind], path, value), uid="u-1")
    assert told(check(group, kind, obj))[0].startswith(expected)

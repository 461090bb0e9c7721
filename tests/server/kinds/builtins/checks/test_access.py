"""What the server refuses of RBAC, webhooks and admission policies, in Kubernetes' words."""

from __future__ import annotations

import pytest

from homeostat.objects.json import Json
from homeostat.server.kinds.builtins.checks import check
from tests.server.kinds.builtins.manifests import ABSENT, ADMISSION, GOOD, RBAC, defaulted, put, told


@pytest.mark.parametrize(
    ("group", "kind", "path", "value", "expected"),
    [
        (RBAC, "Role", "rules.0.verbs", [], "rules[0].verbs: Required value: verbs must contain at least one value"),
        (
            RBAC,
            "Role",
            "rules",
            [{"verbs": ["get"], "nonResourceURLs": ["/x"]}],
            'rules[0].nonResourceURLs: Invalid value: ["/x"]: namespaced rules cannot apply to non-resource URLs',
        ),
        (
            RBAC,
            "ClusterRoleBinding",
            "roleRef.kind",
            "Role",
            'roleRef.kind: Unsupported value: "Role": supported values: "ClusterRole"',
        ),
        (RBAC, "ClusterRoleBinding", "subjects.0.namespace", "", "subjects[0].namespace: Required value"),
        (
            ADMISSION,
            "ValidatingWebhookConfiguration",
            "webhooks.0.name",
            "short",
            'webhooks[0].name: Invalid value: "short": should be a domain with at least three segments',
        ),
        (
            ADMISSION,
            "ValidatingWebhookConfiguration",
            "webhooks.0.sideEffects",
            ABSENT,
            "webhooks[0].sideEffects: Required value: must specify one of None, NoneOnDryRun",
        ),
        (
            ADMISSION,
            "ValidatingWebhookConfiguration",
            "webhooks.0.sideEffects",
            "Some",
            'webhooks[0].sideEffects: Unsupported value: "Some": supported values: "None", "NoneOnDryRun"',
        ),
        (
            ADMISSION,
            "ValidatingWebhookConfiguration",
            "webhooks.0.timeoutSeconds",
            31,
            "webhooks[0].timeoutSeconds: Invalid value: 31: the timeout value must be between 1 and 30 seconds",
        ),
        (
            ADMISSION,
            "ValidatingWebhookConfiguration",
            "webhooks.0.admissionReviewVersions",
            ["v9"],
            'webhooks[0].admissionReviewVersions: Invalid value: ["v9"]: must include at least one of v1, v1beta1',
        ),
        (
            ADMISSION,
            "ValidatingWebhookConfiguration",
            "webhooks.0.clientConfig",
            {},
            "webhooks[0].clientConfig: Required value: exactly one of url or service is required",
        ),
        (
            ADMISSION,
            "ValidatingWebhookConfiguration",
            "webhooks.0.clientConfig",
            {"url": "http://a.example"},
            (
                "webhooks[0].clientConfig.url: Invalid value: \"http\": 'https' is the only allowed URL scheme; "
                "desired format: https://host[/path]"
            ),
        ),
        (
            ADMISSION,
            "ValidatingWebhookConfiguration",
            "webhooks.0.rules.0.resources",
            ["*", "pods"],
            (
                'webhooks[0].rules[0].resources: Invalid value: ["*","pods"]: if \'*\' is present, must not specify '
                "other resources without subresources"
            ),
        ),
        (
            ADMISSION,
            "ValidatingAdmissionPolicyBinding",
            "spec.validationActions",
            ["Deny", "Warn"],
            'spec.validationActions: Invalid value: ["Deny","Warn"]: must not contain both Deny and Warn',
        ),
        (
            ADMISSION,
            "ValidatingAdmissionPolicy",
            "spec.validations",
            [],
            "spec.validations: Required value: validations or auditAnnotations must be set",
        ),
    ],
)
def test_one_wrong_member_is_refused(group: str, kind: str, path: str, value: Json, expected: str) -> None:
    obj = defaulted(group, kind, put(GOOD[group, kind], path, value), uid="u-1")
    assert told(check(group, kind, obj))[0].startswith(expected)

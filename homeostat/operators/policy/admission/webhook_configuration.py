"""The ValidatingWebhookConfiguration that makes an API server call this operator. Pure."""

from __future__ import annotations

from base64 import b64encode
from typing import Final, Literal

from homeostat.objects.json import JsonObject
from homeostat.operators.policy.api import GROUP

SERVICE: Final = "kube-devops-webhook"
PORT: Final = 8443
PATH: Final = "/validate"
_EXCLUDED: Final = ("kube-system", "kube-public", "kube-node-lease")


FailurePolicy = Literal["Ignore", "Fail"]


def webhook_configuration(
    ca_bundle: bytes,
    *,
    service: str = SERVICE,
    namespace: str = "default",
    url: str = "",
    failure_policy: FailurePolicy = "Ignore",
) -> JsonObject:
    """`ca_bundle` is PEM. With `url` the webhook is not behind a Service.

    With Ignore, a webhook that does not answer denies nothing. With Fail it denies everything, except in its own
    namespace: otherwise its own Pods could never start again.
    """
    within = {"service": {"name": service, "namespace": namespace, "path": PATH, "port": PORT}}
    client = {"url": url} if url else within
    own = [namespace] if failure_policy == "Fail" and not url else []
    outside = {"key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": [*_EXCLUDED, *own]}
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingWebhookConfiguration",
        "metadata": {"name": service},
        "webhooks": [
            {
                "name": f"validate.{GROUP}",
                "clientConfig": {**client, "caBundle": b64encode(ca_bundle).decode()},
                "rules": [
                    {
                        "apiGroups": [""],
                        "apiVersions": ["v1"],
                        "operations": ["CREATE", "UPDATE"],
                        "resources": ["pods"],
                        "scope": "Namespaced",
                    }
                ],
                "namespaceSelector": {"matchExpressions": [outside]},
                "failurePolicy": failure_policy,
                "sideEffects": "None",
                "admissionReviewVersions": ["v1"],
                "timeoutSeconds": 5,
            }
        ],
    }

"""The ValidatingWebhookConfiguration that makes an API server call this operator. Pure."""

from __future__ import annotations

from base64 import b64encode
from typing import Final

from homeostat.objects.json import JsonObject
from homeostat.operators.policy.api import GROUP

SERVICE: Final = "kube-devops-webhook"
PORT: Final = 8443
PATH: Final = "/validate"
_EXCLUDED: Final = ("kube-system", "kube-public", "kube-node-lease")


def webhook_configuration(ca_bundle: bytes, *, service: str = SERVICE, namespace: str = "default") -> JsonObject:
    """`ca_bundle` is PEM. The failure policy is Ignore: a webhook that does not answer denies nothing."""
    client = {"service": {"name": service, "namespace": namespace, "path": PATH, "port": PORT}}
    outside = {"key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": list(_EXCLUDED)}
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
                "failurePolicy": "Ignore",
                "sideEffects": "None",
                "admissionReviewVersions": ["v1"],
                "timeoutSeconds": 5,
            }
        ],
    }


def service_names(service: str, namespace: str) -> tuple[str, str]:
    """The DNS names in the certificate of the webhook."""
    return f"{service}.{namespace}.svc", f"{service}.{namespace}.svc.cluster.local"

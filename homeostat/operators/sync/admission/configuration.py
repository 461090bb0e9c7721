"""The kinds that are checked at admission, and the ValidatingWebhookConfiguration by which a server asks. Pure."""

from __future__ import annotations

from base64 import b64encode
from typing import Final

from homeostat.objects.crd.custom_kind import CustomKind
from homeostat.objects.json import JsonObject
from homeostat.operators.sync.api.parts import GROUP, VERSION
from homeostat.operators.sync.api.policy import SYNC_POLICY
from homeostat.operators.sync.api.repository import RESOURCE_REPOSITORY
from homeostat.operators.sync.api.server import MANAGED_SERVER
from homeostat.operators.sync.api.store import SECRET_STORE
from homeostat.operators.sync.api.webhook import REPOSITORY_WEBHOOK

ENABLED: Final = "SYNC_ADMISSION"
GUARDED: Final = (RESOURCE_REPOSITORY, MANAGED_SERVER, SECRET_STORE, SYNC_POLICY, REPOSITORY_WEBHOOK)
_TIMEOUT_S: Final = 10
# What is being deleted must lose its finalizer even while nobody answers.
_LIVE: Final = {
    "name": "is-not-being-deleted",
    "expression": "request.operation == 'DELETE' || !has(object.metadata.deletionTimestamp)",
}


def path_of(kind: CustomKind) -> str:
    """That of the original."""
    return f"/validate-declarest-io-{VERSION}-{kind.kind.kind.lower()}"


def webhook_configuration(
    ca_bundle: bytes, /, *, service: str, namespace: str, port: int, within: str = ""
) -> JsonObject:
    """`ca_bundle` is PEM. The failure policy is that of the original: while nobody answers, every write is refused."""
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingWebhookConfiguration",
        "metadata": {"name": f"{service}-sync"},
        "webhooks": [
            {
                "name": f"{each.kind.plural}.{GROUP}",
                "clientConfig": {
                    "service": {"name": service, "namespace": namespace, "path": path_of(each), "port": port},
                    "caBundle": b64encode(ca_bundle).decode(),
                },
                "rules": [
                    {
                        "apiGroups": [GROUP],
                        "apiVersions": [VERSION],
                        "operations": ["CREATE", "UPDATE", "DELETE"],
                        "resources": [each.kind.plural],
                        "scope": "Namespaced",
                    }
                ],
                "matchConditions": [_LIVE],
                **({"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": within}}} if within else {}),
                "failurePolicy": "Fail",
                "sideEffects": "None",
                "admissionReviewVersions": ["v1"],
                "timeoutSeconds": _TIMEOUT_S,
            }
            for each in GUARDED
        ],
    }

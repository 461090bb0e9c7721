"""The permissions and kinds that the REST API needs, beside those of its operator and of the dashboard.

They read on behalf of all their users, and write for those who are not users of the Kubernetes API
(`web/kit/acting.py`); they check themselves what each user is allowed to do. They need types, resources and reviews of
tokens and access in the whole cluster; everything else in the one namespace that they serve.
"""

from __future__ import annotations

from typing import Final

from homeostat.objects.json import JsonObject
from homeostat.objects.roles import READ, rule
from homeostat.operators.actions.api import GROUP, RESOURCES
from homeostat.runtime.faces.face import FaceRules
from homeostat.web.actions.webhooks.api import REST_WEBHOOK
from homeostat.web.identity.api import KINDS as IDENTITY_KINDS

_CLUSTER: Final[tuple[JsonObject, ...]] = (
    rule(GROUP, ["resourcetypes"], [*READ, "create", "update", "patch", "delete"]),
    rule(RESOURCES, ["*"], [*READ, "create", "update", "patch", "delete"]),
    rule("apiextensions.k8s.io", ["customresourcedefinitions"], ["get"]),
    # Who sends a token of the Kubernetes API, and what that user may do.
    rule("authentication.k8s.io", ["tokenreviews"], ["create"]),
    rule("authorization.k8s.io", ["subjectaccessreviews"], ["create"]),
)
_NAMESPACE: Final[tuple[JsonObject, ...]] = (
    # Objects that were created with kubectl get their number by a patch.
    rule(GROUP, ["restusers", "restroles", "restwebhooks"], [*READ, "create", "update", "patch"]),
    rule(GROUP, ["restroles", "restwebhooks"], ["delete"]),
    rule(GROUP, ["restusers/status"], ["patch"]),
    rule(GROUP, ["reconciliations"], READ),
    rule(GROUP, ["runoutputs"], ["get"]),
    rule(GROUP, ["resourceinputs"], ["get", "list"]),
    # Credentials that earlier versions kept here are moved to the namespace of the process.
    rule("", ["secrets"], ["get", "delete"]),
    # The last assigned numbers.
    rule("", ["configmaps"], ["get", "create", "update"]),
)
_OWN: Final[tuple[JsonObject, ...]] = (
    # Which process leads is read from the Leases; each server also keeps one of its own.
    rule("coordination.k8s.io", ["leases"], ["list", "create", "patch", "delete"]),
    # Password hashes, the keys of tokens and sessions, and the sessions that were ended.
    rule("", ["secrets"], ["get", "create", "update", "delete"]),
)
RULES: Final = FaceRules(cluster=_CLUSTER, namespace=_NAMESPACE, leases=_OWN)
KINDS: Final = (*IDENTITY_KINDS, REST_WEBHOOK)
"""The kinds of the face, beside those of its operator."""

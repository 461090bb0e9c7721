"""The permissions that the dashboard needs: it reads for all its visitors, and checks what each of them may see.

What a visitor changes is written with the visitor's own token (`web/kit/acting.py`).
"""

from __future__ import annotations

from typing import Final

from homeostat.objects.json import JsonObject
from homeostat.objects.roles import FOLLOW, rule
from homeostat.operators.catalog import declared_sections
from homeostat.runtime.faces.face import FaceRules

READS: Final[tuple[JsonObject, ...]] = (
    # Which fields of custom kinds are passwords, that no page shows.
    rule("apiextensions.k8s.io", ["customresourcedefinitions"], ["get"]),
    rule("authentication.k8s.io", ["tokenreviews"], ["create"]),
    rule("authorization.k8s.io", ["subjectaccessreviews"], ["create"]),
    # Home: what changed last.
    rule("", ["events"], FOLLOW),
    # Home, too: which workloads are not ready, and why their Pods are not.
    rule("apps", ["deployments", "statefulsets", "daemonsets"], FOLLOW),
    rule("", ["pods"], ["list"]),
    # In which namespaces a visitor may read something who may not read everything.
    rule("rbac.authorization.k8s.io", ["rolebindings"], FOLLOW),
    *(each for section in declared_sections() for each in section.rules),
)
SESSIONS: Final[tuple[JsonObject, ...]] = (
    # The key of sessions, and the sessions that were ended.
    rule("", ["secrets"], ["get", "create", "update", "delete"]),
)
_LEADERS: Final[tuple[JsonObject, ...]] = (
    # Which process leads is read from the Leases.
    rule("coordination.k8s.io", ["leases"], ["list"]),
)
RULES: Final = FaceRules(cluster=READS, leases=(*_LEADERS, *SESSIONS))

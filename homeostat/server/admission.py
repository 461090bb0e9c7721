"""Shall we: what else has a say in a write. Nobody may grant what they do not hold; then webhooks are asked."""

from __future__ import annotations

from homeostat.objects.json import JsonObject
from homeostat.server.authz import Authorizer
from homeostat.server.call import Call
from homeostat.server.escalation import check_grant

_RBAC = "rbac.authorization.k8s.io"


class AdmissionChain:
    def __init__(self, authorizer: Authorizer) -> None:
        self._authorizer = authorizer

    def is_idle(self, call: Call, operation: str) -> bool:
        return True

    async def mutate(
        self, call: Call, obj: JsonObject | None, old: JsonObject | None, operation: str
    ) -> JsonObject | None:
        return obj

    async def validate(self, call: Call, obj: JsonObject | None, old: JsonObject | None, operation: str) -> None:
        if call.kind.group == _RBAC and obj is not None:
            check_grant(self._authorizer, call.user, kind=call.kind.kind, namespace=call.namespace, obj=obj, old=old)

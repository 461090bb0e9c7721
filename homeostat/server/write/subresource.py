"""The subresources that a write treats in ways of their own."""

from __future__ import annotations

from homeostat.objects.json import JsonObject
from homeostat.server.access.signers import APPROVAL
from homeostat.server.request.call import Call

STATUS = "status"
"""The subresource, and the tag of a change that touched nothing else."""
BINDING = "binding"
"""The subresource. Admission control sees the creation of the Binding, and not the change of the Pod."""
_SPEC_ONLY: JsonObject = {"f:spec": {}}
_STATUS_ONLY: JsonObject = {"f:status": {}}


def untracked_fields(call: Call) -> JsonObject | None:
    """Fields that a write of this subresource cannot own."""
    if not call.kind.has_status:
        return None
    return _SPEC_ONLY if call.subresource in (STATUS, APPROVAL) else _STATUS_ONLY

"""The object of a write after mutating admission."""

from __future__ import annotations

from homeostat.objects.json import JsonObject
from homeostat.server.request.call import Call
from homeostat.server.request.offload import is_heavy
from homeostat.server.request.too_long import TooLongError, is_offloaded
from homeostat.server.write.checks import place, place_in_namespace
from homeostat.server.write.subresource import BINDING


async def mutate(call: Call, obj: JsonObject, old: JsonObject | None, operation: str) -> JsonObject:
    """The object after mutating webhooks. As in Kubernetes, the fields that they set have no manager."""
    admission = call.backend.admission
    if call.subresource == BINDING or admission.is_idle(call, operation):
        return obj
    changed = await admission.mutate(call, obj, old, operation)
    if changed is None or changed is obj:
        return obj
    if not is_offloaded() and is_heavy(changed):
        # Everything that follows takes long. In the thread, admission is asked again, as after a conflict.
        raise TooLongError
    (place if old is None else place_in_namespace)(call, changed["metadata"])
    call.kind.behaviour.prune(changed)
    call.kind.behaviour.default(changed)
    if call.kind.resource in admission.completed:
        await admission.complete(call, changed, old)
    return changed

"""Bodies of the subresources of Pods that are no Pods themselves: an Eviction, a Binding."""

from __future__ import annotations

from typing import Final

from msgspec.structs import replace

from homeostat.objects.errors import BadRequestError
from homeostat.objects.json import JsonObject, encode
from homeostat.server.access.nodes.identity import node_of
from homeostat.server.kinds.builtin import BuiltinBehaviour
from homeostat.server.kinds.registry import Kind
from homeostat.server.request.body import read_object
from homeostat.server.request.call import Call

EVICTION: Final = Kind("policy", "v1", "Eviction", "pods", True, behaviour=BuiltinBehaviour("policy", "v1", "Eviction"))
BINDING: Final = Kind("", "v1", "Binding", "pods", True, behaviour=BuiltinBehaviour("", "v1", "Binding"))
CREATED: Final = encode({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201})
"""The answer to a request that was carried out."""


async def admitted(call: Call, kind: Kind) -> JsonObject:
    """The object in the body, of `kind` and about the call's Pod, after admission control of its creation."""
    asked = replace(call, kind=kind)
    obj = read_object(asked)
    metadata = obj["metadata"]
    if metadata.setdefault("name", call.name) != call.name:
        raise BadRequestError(f"name in URL does not match name in {kind.kind} object")
    if (metadata.get("namespace") or call.namespace) != call.namespace:
        raise BadRequestError("the namespace of the provided object does not match the namespace sent on the request")
    metadata["namespace"] = call.namespace
    admission = call.backend.admission
    if admission.is_idle(call, "CREATE") and node_of(call.user) is None:
        return obj
    changed = await admission.mutate(call, obj, None, "CREATE")
    obj = obj if changed is None else changed
    await admission.validate(call, obj, None, "CREATE")
    return obj

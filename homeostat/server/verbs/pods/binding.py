"""POST of a Pod's `binding`: what a scheduler does to assign the Pod to a Node."""

from __future__ import annotations

from homeostat.objects.errors import ConflictError, InvalidError, required, unsupported
from homeostat.objects.json import JsonObject
from homeostat.server import strategy
from homeostat.server.kinds.builtins.members import items, struct, text
from homeostat.server.request.call import Answer, Call
from homeostat.server.request.offload import offloaded
from homeostat.server.verbs.pods.condition import with_condition
from homeostat.server.verbs.pods.request import BINDING, CREATED, admitted
from homeostat.server.view.answer import one
from homeostat.server.write.change import change

_SCHEDULED: JsonObject = {"type": "PodScheduled", "status": "True", "lastProbeTime": None}
_MERGED = ("annotations", "labels")


@offloaded
async def bind(call: Call) -> Answer:
    binding = await admitted(call, BINDING)
    target = struct(binding, "target")
    kind, node = text(target, "kind"), text(target, "name")
    causes = [unsupported("target.kind", kind, ["Node", "<empty>"])] if kind not in ("", "Node") else []
    if not node:
        causes.append(required("target.name"))
    if causes:
        raise InvalidError("; ".join(f"{each.field}: {each.message}" for each in causes), causes=causes)
    await change(call, lambda pod: bound(call, pod, binding, node))
    return one(call, CREATED, status=201)


def bound(call: Call, pod: JsonObject, binding: JsonObject, node: str) -> JsonObject:
    """The Pod on its Node; `ConflictError` if it has one, waits at a gate, is terminating or is another."""
    metadata, asked, spec = pod["metadata"], binding["metadata"], struct(pod, "spec")
    for label, name in (("UID", "uid"), ("ResourceVersion", "resourceVersion")):
        if asked.get(name) and asked[name] != metadata[name]:
            raise strategy.unmet_precondition(call.kind, call.name, label, asked[name], metadata[name])
    if "deletionTimestamp" in metadata:
        raise _conflict(call, f"pod {call.name} is being deleted, cannot be assigned to a host")
    if text(spec, "nodeName"):
        raise _conflict(call, f'pod {call.name} is already assigned to node "{spec["nodeName"]}"')
    if items(spec, "schedulingGates"):
        raise _conflict(call, f"pod {call.name} has non-empty .spec.schedulingGates")
    merged = {name: {**struct(metadata, name), **struct(asked, name)} for name in _MERGED if struct(asked, name)}
    status = struct(pod, "status")
    return {
        **pod,
        "metadata": {**metadata, **merged},
        "spec": {**spec, "nodeName": node},
        "status": {**status, "conditions": with_condition(status, _SCHEDULED, call.timestamp())},
    }


def _conflict(call: Call, why: str) -> ConflictError:
    message = f'Operation cannot be fulfilled on pods/binding "{call.name}": {why}'
    return ConflictError(message, kind="pods/binding", name=call.name)

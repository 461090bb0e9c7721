"""The verbs of subresources."""

from __future__ import annotations

from homeostat.edge.imports import import_in_thread
from homeostat.objects.errors import BadRequestError, NotFoundError, invalid, invalid_object
from homeostat.objects.json import JsonObject, encode, type_name
from homeostat.server.access.signers import REQUESTS
from homeostat.server.access.tokens.request import complete_token_spec
from homeostat.server.access.tokens.service_account import LIBRARY
from homeostat.server.kinds.builtins.members import struct
from homeostat.server.kinds.registry import Kind
from homeostat.server.request.body import conform, parse_body
from homeostat.server.request.call import Answer, Call, Verb
from homeostat.server.request.offload import offloaded
from homeostat.server.verbs.get import get
from homeostat.server.verbs.patch import patch
from homeostat.server.verbs.pods.binding import bind
from homeostat.server.verbs.pods.eviction import evict
from homeostat.server.verbs.scale import get_scale, patch_scale, update_scale
from homeostat.server.verbs.update import update
from homeostat.server.view.answer import one
from homeostat.server.write.change import change

_CLAIMS = ("name", "uid", "resourceVersion")
"""Metadata of the body that must match the stored object."""

_OF_CONTAINERS = frozenset({"log", "exec", "attach", "portforward", "proxy"})


def check_subresource(kind: Kind, subresource: str) -> None:
    """`NotFoundError` if the kind does not have it."""
    if has_subresource(kind, subresource):
        return
    if subresource in _OF_CONTAINERS and kind.kind == "Pod" and not kind.group:
        raise NotFoundError(f"no container runs on this plane, so its Pods have no {subresource}")
    raise NotFoundError("the server could not find the requested resource")


def has_subresource(kind: Kind, subresource: str) -> bool:
    match subresource:
        case "status":
            return kind.has_status
        case "scale":
            return kind.scale is not None
        case "finalize":
            return kind.kind == "Namespace" and not kind.group
        case "approval":
            return kind.group_resource == REQUESTS
        case "token":
            return kind.kind == "ServiceAccount" and not kind.group
        case "eviction" | "binding" | "ephemeralcontainers" | "resize":
            return kind.kind == "Pod" and not kind.group
    return False


@offloaded
async def finalize(call: Call) -> Answer:
    """PUT of a namespace's `finalize`: the only way to change its `spec.finalizers`."""
    # Read before defaults are set: they would add the finalizer that this call removes.
    asked = parse_body(call)
    spec = asked.get("spec") if isinstance(asked, dict) else None
    wanted = spec.get("finalizers") or [] if isinstance(spec, dict) else []
    sent = conform(call, asked)
    claimed = {name: sent["metadata"][name] for name in _CLAIMS if sent["metadata"].get(name)}

    def set_finalizers(old: JsonObject) -> JsonObject:
        metadata = {**old["metadata"], **claimed}
        return {**old, "metadata": metadata, "spec": {**(old.get("spec") or {}), "finalizers": wanted}}

    written = await change(call, set_finalizers)
    return one(call, written.body)


async def create_token(call: Call) -> Answer:
    """POST of a service account's `token`: a signed token for it."""
    await import_in_thread(LIBRARY)
    asked = parse_body(call)
    if not isinstance(asked, dict):
        raise BadRequestError(f"expected an object, got {type_name(asked)}")
    _check_place(call, struct(asked, "metadata"))
    return one(call, encode(call.backend.issue_token(call, await _admitted(call, asked))), status=201)


def _check_place(call: Call, metadata: JsonObject) -> None:
    """A TokenRequest may name its account, but no other."""
    if (metadata.get("namespace") or call.namespace) != call.namespace:
        raise BadRequestError("the namespace of the provided object does not match the namespace sent on the request")
    if (name := metadata.get("name") or call.name) != call.name:
        causes = [invalid("metadata.name", name, "must match the service account name if specified")]
        raise invalid_object("TokenRequest", "authentication.k8s.io", "", causes)


async def _admitted(call: Call, asked: JsonObject) -> JsonObject:
    """The TokenRequest after admission control."""
    admission = call.backend.admission
    if admission.is_idle(call, "CREATE"):
        return asked
    metadata = {**struct(asked, "metadata"), "namespace": call.namespace}
    request: JsonObject = {
        "kind": "TokenRequest",
        "apiVersion": "authentication.k8s.io/v1",
        "metadata": metadata,
        "spec": complete_token_spec(asked),
    }
    changed = await admission.mutate(call, request, None, "CREATE") or request
    changed["metadata"]["name"] = call.name
    await admission.validate(call, changed, None, "CREATE")
    return changed


SUBRESOURCE_VERBS: dict[tuple[str, str], Verb] = {
    ("status", "get"): get,
    ("status", "update"): update,
    ("status", "patch"): patch,
    ("approval", "get"): get,
    ("approval", "update"): update,
    ("approval", "patch"): patch,
    ("scale", "get"): get_scale,
    ("scale", "update"): update_scale,
    ("scale", "patch"): patch_scale,
    ("finalize", "update"): finalize,
    ("token", "create"): create_token,
    ("eviction", "create"): evict,
    ("binding", "create"): bind,
    ("ephemeralcontainers", "get"): get,
    ("ephemeralcontainers", "update"): update,
    ("ephemeralcontainers", "patch"): patch,
    ("resize", "get"): get,
    ("resize", "update"): update,
    ("resize", "patch"): patch,
}

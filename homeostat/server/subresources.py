"""What may be done with the parts of an object that have paths of their own."""

from __future__ import annotations

from homeostat.objects.json import JsonObject, encode
from homeostat.server.answer import one
from homeostat.server.body import read_object
from homeostat.server.call import Answer, Call, Verb
from homeostat.server.scale import get_scale, patch_scale, update_scale
from homeostat.server.verbs.get import get
from homeostat.server.verbs.patch import patch
from homeostat.server.verbs.update import update
from homeostat.server.write import change


async def finalize(call: Call) -> Answer:
    """PUT of a namespace's `finalize`: the only way to change its `spec.finalizers`."""
    wanted = read_object(call).get("spec", {}).get("finalizers", [])

    def set_finalizers(old: JsonObject) -> JsonObject:
        return {**old, "metadata": dict(old["metadata"]), "spec": {**(old.get("spec") or {}), "finalizers": wanted}}

    written = await change(call, set_finalizers)
    return one(call, written.body)


async def create_token(call: Call) -> Answer:
    """POST of a service account's `token`: a signed token for it."""
    return one(call, encode(call.backend.issue_token(call)), status=201)


SUBRESOURCE_VERBS: dict[tuple[str, str], Verb] = {
    ("status", "get"): get,
    ("status", "update"): update,
    ("status", "patch"): patch,
    ("scale", "get"): get_scale,
    ("scale", "update"): update_scale,
    ("scale", "patch"): patch_scale,
    ("finalize", "update"): finalize,
    ("token", "create"): create_token,
}

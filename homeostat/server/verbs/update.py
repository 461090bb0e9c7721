"""PUT: replace an object, or its status."""

from __future__ import annotations

from contextlib import suppress

from homeostat.objects.errors import AlreadyExistsError
from homeostat.objects.json import JsonObject
from homeostat.server.request.body import read_object
from homeostat.server.request.call import Answer, Call
from homeostat.server.request.offload import offloaded
from homeostat.server.view.answer import one
from homeostat.server.write.change import change
from homeostat.server.write.checks import require_name
from homeostat.server.write.create import create


@offloaded
async def update(call: Call) -> Answer:
    if call.kind.create_on_update and not call.subresource and call.store.get(call.key) is None:
        await call.require_create()
        # If another writer creates it first, that object is replaced.
        with suppress(AlreadyExistsError):
            created = await create(call, _named(call, read_object(call)))
            return one(call, created.body, status=201)

    def replace(stored: JsonObject) -> JsonObject:
        return _named(call, read_object(call, stored))

    written = await change(call, replace)
    return one(call, written.body)


def _named(call: Call, obj: JsonObject) -> JsonObject:
    """An update names its object, unlike a patch: a body that was sent to the wrong path must not replace another."""
    require_name(call, obj["metadata"])
    return obj

"""GET of one object."""

from __future__ import annotations

from homeostat.server.request.call import Answer, Call
from homeostat.server.request.negotiate import PLAIN
from homeostat.server.request.offload import offloaded
from homeostat.server.view.answer import one
from homeostat.server.view.encode import object_bytes
from homeostat.server.view.versions import await_version


async def get(call: Call) -> Answer:
    # A store that is not shared is always at its newest revision, which saves most reads two coroutines.
    if call.options.resource_version or call.store.is_shared:
        await await_version(call)
    if call.representation is PLAIN and call.kind.is_verbatim:
        return one(call, object_bytes(call.kind, call.record()))
    return await _converted(call)


@offloaded
async def _converted(call: Call) -> Answer:
    return one(call, object_bytes(call.kind, await call.shown_record()))

"""GET of one object."""

from __future__ import annotations

from homeostat.server.answer import one
from homeostat.server.call import Answer, Call
from homeostat.server.encode import object_bytes
from homeostat.server.versions import await_version


async def get(call: Call) -> Answer:
    await await_version(call)
    return one(call, object_bytes(call.kind, call.record()))

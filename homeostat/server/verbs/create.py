"""POST of a new object."""

from __future__ import annotations

from homeostat.server.request.body import read_object
from homeostat.server.request.call import Answer, Call
from homeostat.server.request.offload import offloaded
from homeostat.server.view.answer import one
from homeostat.server.write.create import create as write_new


@offloaded
async def create(call: Call) -> Answer:
    written = await write_new(call, read_object(call))
    return one(call, written.body, status=201)

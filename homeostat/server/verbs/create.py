"""POST of a new object."""

from __future__ import annotations

from homeostat.server.answer import one
from homeostat.server.aside import aside
from homeostat.server.body import read_object
from homeostat.server.call import Answer, Call
from homeostat.server.write import create as write_new


@aside
async def create(call: Call) -> Answer:
    written = await write_new(call, read_object(call))
    return one(call, written.body, status=201)

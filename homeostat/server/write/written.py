"""The result of a write, as its response shows it."""

from __future__ import annotations

from typing import NamedTuple

from homeostat.objects.json import JsonObject, encode
from homeostat.server.request.call import Call
from homeostat.server.view.encode import object_bytes, object_of
from homeostat.store.base import Record


class Written(NamedTuple):
    """The result of a write: the bytes of the response, the object, and whether it was deleted."""

    body: bytes
    obj: JsonObject
    is_gone: bool = False


async def tried(call: Call, obj: JsonObject) -> Written:
    """The result of a dry run."""
    if call.kind.conversion is not None:
        obj = await call.backend.conversions.round_trip(call.kind, obj)
    return Written(encode(obj), obj)


async def shown_written(call: Call, record: Record) -> Written:
    """A written object as it is read: at the stored version and back, a conversion may change it."""
    shown = await call.show(record)
    return Written(object_bytes(call.kind, shown), object_of(call.kind, shown))

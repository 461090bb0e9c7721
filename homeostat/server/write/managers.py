"""The `managedFields` of a written object: which manager wrote which field."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from homeostat.objects.apply.managed import update_managed
from homeostat.objects.apply.versions import UnconvertedError, Versions
from homeostat.objects.json import JsonObject
from homeostat.server.request.call import Call
from homeostat.server.write.subresource import untracked_fields

T = TypeVar("T")


def manage(call: Call, old: JsonObject | None, new: JsonObject) -> None:
    """Update `managedFields`: which manager wrote which field."""
    if call.is_apply:
        return
    entries = update_managed(
        old,
        new,
        call.kind.behaviour.schema,
        manager=call.manager,
        api_version=call.kind.api_version,
        subresource=call.subresource,
        ignore=untracked_fields(call),
        now=call.timestamp(),
        versions=call.versions,
    )
    if entries:
        new["metadata"]["managedFields"] = entries
    else:
        new["metadata"].pop("managedFields", None)


async def with_versions(call: Call, compute: Callable[[], T]) -> T:
    """The result of a computation that needs the object at the versions of its managers."""
    conversion = call.kind.conversion
    assert conversion is not None
    if call.versions is None:
        call.versions = Versions(conversion.behaviours)
    while True:
        try:
            return compute()
        except UnconvertedError as missing:
            found = await call.backend.conversions.objects(call.kind, [missing.obj], missing.api_version)
            call.versions.learn(missing, found[0])

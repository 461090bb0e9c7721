"""Checks whether a server has the definitions of operators, and those of this version."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from homeostat.client.base import Client
from homeostat.objects.errors import ApiError, NotFoundError
from homeostat.objects.json import JsonObject
from homeostat.objects.kind import DEFINITION
from homeostat.runtime.checkup import Finding


async def check_definitions(
    client: Client, definitions: Sequence[JsonObject], served: Collection[str], *, remedy: str
) -> Finding:
    check = "definitions"
    names = [each["metadata"]["name"] for each in definitions]
    if missing := [name for name in names if name not in served]:
        plurals = ", ".join(name.partition(".")[0] for name in missing)
        return Finding(check, "FAIL", f"not installed: {plurals}", remedy)
    try:
        stale = [each["metadata"]["name"] for each in definitions if await _is_stale(client, each)]
    except ApiError as error:
        return Finding(check, "OK", f"installed; their versions were not compared: {error.message}")
    if stale:
        return Finding(check, "WARN", f"of another version than this command: {', '.join(stale)}", remedy)
    return Finding(check, "OK", ", ".join(name.partition(".")[0] for name in names) or "none")


async def _is_stale(client: Client, definition: JsonObject) -> bool:
    try:
        found = await client.get(DEFINITION.path("", definition["metadata"]["name"]))
    except NotFoundError:
        return True
    return not _includes(found["spec"], definition["spec"])


def _includes(found: Any, wanted: Any) -> bool:
    """Whether all that is wanted is there; a server adds defaults."""
    match wanted:
        case dict():
            return isinstance(found, dict) and all(_includes(found.get(key), value) for key, value in wanted.items())
        case list():
            same = isinstance(found, list) and len(found) == len(wanted)
            return same and all(map(_includes, found, wanted))
    return bool(found == wanted)

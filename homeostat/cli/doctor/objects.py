"""Names the objects of an operator that are not as they should be: failed, not ready, not compliant, or drifted."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from homeostat.client.base import Client
from homeostat.objects.errors import ApiError
from homeostat.objects.json import JsonObject
from homeostat.objects.kind import Kind
from homeostat.runtime.checkup import Finding
from homeostat.runtime.description import Description

MOST_OBJECTS: Final = 500
"""Of a kind; the status of further ones is not read."""
_MOST_NAMES: Final = 5
_TYPES, _RESOURCES = "resourcetypes.homeostat.dev", "resources.homeostat.dev"
"""The definition of resource types, and the group of the kinds that they become."""
_BAD: Final = {("Ready", "False"), ("Stalled", "True"), ("Degraded", "True")}


class _Condition(msgspec.Struct, frozen=True):
    type: str = ""
    status: str = ""
    reason: str = ""


class _Status(msgspec.Struct, frozen=True, rename="camel"):
    """What the kinds of all operators say of trouble."""

    conditions: tuple[_Condition, ...] | None = None
    phase: str | None = None
    contract_status: str | None = None
    violations: int | None = None
    drifted: int | None = None
    tag: str | None = None
    wanted: str | None = None


async def check_objects(client: Client, operator: Description, kinds: Mapping[str, Kind]) -> Finding:
    """`kinds` are those of the server, by plural and group."""
    wrong: list[tuple[str, str]] = []
    count = 0
    for kind in _kinds_of(operator, kinds):
        try:
            page = await client.request("GET", kind.path(""), {"limit": MOST_OBJECTS})
        except ApiError as error:
            return Finding("objects", "SKIPPED", f"cannot list {kind.plural}: {error.message}")
        count += len(page["items"])
        wrong += [
            (f"{kind.kind} {_place(each)} ({trouble})", _describe(kind, each))
            for each in page["items"]
            if (trouble := trouble_of(each.get("status")))
        ]
    if not wrong:
        return Finding("objects", "OK", _well(count))
    more = f" and {len(wrong) - _MOST_NAMES} more" if len(wrong) > _MOST_NAMES else ""
    names = ", ".join(text for text, _ in wrong[:_MOST_NAMES])
    return Finding("objects", "WARN", f"not as they should be: {names}{more}", f"read why: {wrong[0][1]}")


def trouble_of(status: Any) -> str:
    """In one or two words, without messages, which others wrote; empty if all is well or nothing is known."""
    try:
        found = msgspec.convert(status or {}, _Status)
    except msgspec.ValidationError:
        return ""
    failing = next((each for each in found.conditions or () if (each.type, each.status) in _BAD), None)
    if failing is not None:
        return failing.reason or f"{failing.type} {failing.status}"
    if found.phase is not None and found.phase.lower() == "failed":
        return "failed"
    if found.contract_status == "NonCompliant":
        return found.contract_status
    if found.violations:
        return "1 violation" if found.violations == 1 else f"{found.violations} violations"
    if found.drifted:
        return f"{found.drifted} drifted"
    is_pinned = any((each.type, each.status) == ("Pinned", "True") for each in found.conditions or ())
    return "pinned at an older tag" if is_pinned and found.tag and found.wanted not in (None, "", found.tag) else ""


def _well(count: int) -> str:
    """In numbers that read well: there may be none or one."""
    match count:
        case 0:
            return "there are no objects"
        case 1:
            return "its only object is not failing"
    return f"none of {count} objects is failing"


def _kinds_of(operator: Description, kinds: Mapping[str, Kind]) -> list[Kind]:
    """Those that it defines; the operator of resource types also has the kinds of their resources."""
    defined = {each["metadata"]["name"] for each in operator.definitions()}
    has_types = _TYPES in defined
    return [each for name, each in kinds.items() if name in defined or (has_types and each.group == _RESOURCES)]


def _place(obj: JsonObject) -> str:
    namespace = obj["metadata"].get("namespace")
    return f"{namespace}/{obj['metadata']['name']}" if namespace else str(obj["metadata"]["name"])


def _describe(kind: Kind, obj: JsonObject) -> str:
    namespace = obj["metadata"].get("namespace")
    return f"homeostat describe {kind.kind.lower()} {obj['metadata']['name']}{f' -n {namespace}' if namespace else ''}"

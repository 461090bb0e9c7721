"""Installs the definitions of an operator's kinds on a server, and waits until they are established.

A definition that the server already has is not applied again: a server takes milliseconds to merge and validate one,
and nearly every start finds all of them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import TYPE_CHECKING

from homeostat.client.base import Client
from homeostat.objects.errors import ApiError, UnavailableError
from homeostat.objects.json import JsonObject
from homeostat.objects.kind import DEFINITION

if TYPE_CHECKING:
    from homeostat.objects.crd.custom_kind import CustomKind

_MANAGER = "homeostat"
_POLL_EVERY_S = 0.05
_ESTABLISHED_WITHIN_S = 30.0
_DEFAULTED_NAMES = ("listKind", "singular")
_DEFAULTED_SPEC = {"conversion": {"strategy": "None"}}


async def install(client: Client, kinds: Iterable[CustomKind]) -> None:
    """Installs the definitions of these kinds."""
    await install_definitions(client, (each.definition() for each in kinds))


async def install_definitions(client: Client, definitions: Iterable[JsonObject]) -> None:
    """Applies all definitions that are missing or differ at once, so that the server commits them together.
    `UnavailableError` if the server does not establish one in time.
    """
    wanted = list(definitions)
    # Where the first one is missing, as at a first start, the others are too.
    if wanted and await _is_installed(client, wanted[0]):
        rest = wanted[1:]
        installed = await asyncio.gather(*(_is_installed(client, each) for each in rest))
        wanted = [each for each, is_there in zip(rest, installed, strict=True) if not is_there]
    await asyncio.gather(*(_install(client, each) for each in wanted))


async def _is_installed(client: Client, definition: JsonObject) -> bool:
    """Whether the server has it, established, as applying it would leave it."""
    try:
        found = await client.get(DEFINITION.path("", definition["metadata"]["name"]))
    except ApiError:
        return False
    return _is_established(found) and is_as_applied(found, definition)


def is_as_applied(found: JsonObject, wanted: JsonObject) -> bool:
    """Whether we applied a stored definition, and applying `wanted` would change nothing. False if that is not certain:
    a server may complete definitions in other ways than those that are known here. Pure.
    """
    metadata = found["metadata"]
    applied = [each for each in metadata.get("managedFields") or () if _is_ours(each)]
    if not applied or metadata.get("deletionTimestamp"):
        return False
    for name in ("labels", "annotations"):
        values: JsonObject = wanted["metadata"].get(name) or {}
        if not values.items() <= (metadata.get(name) or {}).items():
            return False
        # An earlier version may have applied more of them, which applying would remove.
        if not _owned(applied[0], name) <= values.keys():
            return False
    defaulted = {name: found["spec"]["names"].get(name) for name in _DEFAULTED_NAMES}
    names = {**defaulted, **wanted["spec"]["names"]}
    return bool(found["spec"] == {**_DEFAULTED_SPEC, **wanted["spec"], "names": names})


def _is_ours(entry: JsonObject) -> bool:
    return (entry.get("manager"), entry.get("operation")) == (_MANAGER, "Apply") and not entry.get("subresource")


def _owned(entry: JsonObject, name: str) -> set[str]:
    """The labels or annotations that a manager has applied."""
    fields = ((entry.get("fieldsV1") or {}).get("f:metadata") or {}).get(f"f:{name}") or {}
    return {each.removeprefix("f:") for each in fields if each != "."}


async def _install(client: Client, definition: JsonObject) -> None:
    path = DEFINITION.path("", definition["metadata"]["name"])
    found = await client.apply(path, definition, manager=_MANAGER, force=True)
    try:
        async with asyncio.timeout(_ESTABLISHED_WITHIN_S):
            while not _is_established(found):
                await asyncio.sleep(_POLL_EVERY_S)
                found = await client.get(path)
    except TimeoutError:
        raise UnavailableError(f"{path}: not established after {_ESTABLISHED_WITHIN_S:g} s: {_why(found)}") from None


def _is_established(definition: JsonObject) -> bool:
    return ("Established", "True") in {(each["type"], each["status"]) for each in _conditions(definition)}


def _why(definition: JsonObject) -> str:
    wrong = [each.get("message", "") for each in _conditions(definition) if each["status"] != "True"]
    return "; ".join(wrong) or "the server gives no reason"


def _conditions(definition: JsonObject) -> list[JsonObject]:
    found: list[JsonObject] = (definition.get("status") or {}).get("conditions") or []
    return found

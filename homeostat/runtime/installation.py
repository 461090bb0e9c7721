"""Installs the definitions of an operator's kinds on a server, and waits until they are established."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import TYPE_CHECKING

from homeostat.client.base import Client
from homeostat.objects.errors import UnavailableError
from homeostat.objects.json import JsonObject
from homeostat.objects.kind import DEFINITION

if TYPE_CHECKING:
    from homeostat.objects.crd.custom_kind import CustomKind

_MANAGER = "homeostat"
_LOOK_EVERY_S = 0.05
_ESTABLISHED_WITHIN_S = 30.0


async def install(client: Client, kinds: Iterable[CustomKind]) -> None:
    """Installs the definitions of these kinds."""
    await install_definitions(client, (each.definition() for each in kinds))


async def install_definitions(client: Client, definitions: Iterable[JsonObject]) -> None:
    """Applies all definitions at once, so that the server commits them together; existing ones are updated.
    `UnavailableError` if the server does not establish one in time.
    """
    await asyncio.gather(*(_install(client, each) for each in definitions))


async def _install(client: Client, definition: JsonObject) -> None:
    path = DEFINITION.path("", definition["metadata"]["name"])
    found = await client.apply(path, definition, manager=_MANAGER, force=True)
    try:
        async with asyncio.timeout(_ESTABLISHED_WITHIN_S):
            while not _is_established(found):
                await asyncio.sleep(_LOOK_EVERY_S)
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

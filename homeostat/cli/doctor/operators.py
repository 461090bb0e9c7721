"""Checks what operators need of a server: definitions, permissions, objects that are ready, and their own checks."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import msgspec

from homeostat.cli.doctor.definitions import check_definitions
from homeostat.cli.doctor.permissions import check_permissions, permissions_of
from homeostat.client.base import Client
from homeostat.client.discovery import fetch_kinds
from homeostat.objects.errors import ApiError
from homeostat.objects.json import JsonObject
from homeostat.objects.roles import LEASE_RULES
from homeostat.runtime.checkup import Check, Finding
from homeostat.runtime.description import Description, resource_of
from homeostat.runtime.faces.face import load_reference

if TYPE_CHECKING:
    from homeostat.objects.kind import Kind

MOST_OBJECTS: Final = 500
"""Of a kind; the conditions of further ones are not read."""
_MOST_NAMES: Final = 5


async def check_operator(
    client: Client,
    operator: Description,
    kinds: Mapping[str, Kind],
    *,
    leases: str,
    rules: Sequence[JsonObject] | None = None,
) -> AsyncIterator[Finding]:
    """`kinds` are those of the server, by plural and group; `leases` is the namespace of the leases, empty without an
    election. `rules` replaces those that the operator declares.
    """
    name, module = operator.name, operator.load()
    yield await check_definitions(
        client,
        operator.definitions(),
        kinds,
        remedy=f"to install them: homeostat crds --operators {name} | kubectl apply --server-side -f -",
    )
    remedy = f"see homeostat rbac --operators {name}"
    declared = rules if rules is not None else getattr(module, "RULES", ())
    yield await check_permissions(client, "permissions of the operator", permissions_of(declared, kinds), remedy=remedy)
    if leases:
        election = permissions_of(LEASE_RULES, kinds, namespace=leases)
        yield await check_permissions(
            client, "permissions for leader election", election, remedy=f"{remedy} --leader-elect"
        )
    webhook = getattr(module, "WEBHOOK", None)
    if webhook is not None:
        needed = permissions_of(webhook.rules, kinds)
        yield await check_permissions(client, "permissions of the webhook", needed, remedy="see homeostat deploy")
    for reference in getattr(module, "CHECKS", ()):
        check: Check = load_reference(reference)
        for found in await check(client):
            yield found


async def served_kinds(client: Client) -> dict[str, Kind]:
    """By plural and group."""
    return {resource_of(each): each for each in await fetch_kinds(client)}


def is_installed(operator: Description, served: Collection[str]) -> bool:
    """Whether the server has any of its kinds."""
    return any(each["metadata"]["name"] in served for each in operator.definitions())


class _Condition(msgspec.Struct, frozen=True):
    type: str = ""
    status: str = ""
    reason: str = ""
    message: str = ""


async def check_objects(client: Client, operator: Description, kinds: Mapping[str, Kind]) -> Finding:
    """Names the objects of its kinds that are not ready."""
    wrong: list[str] = []
    count = 0
    for definition in operator.definitions():
        kind = kinds.get(definition["metadata"]["name"])
        if kind is None:
            continue
        try:
            page = await client.request("GET", kind.path(""), {"limit": MOST_OBJECTS})
        except ApiError as error:
            return Finding("objects", "SKIPPED", f"cannot list {kind.plural}: {error.message}")
        count += len(page["items"])
        wrong += [text for each in page["items"] if (text := _not_ready(kind, each))]
    if not wrong:
        return Finding("objects", "OK", f"none of {count} objects is failing")
    more = f" and {len(wrong) - _MOST_NAMES} more" if len(wrong) > _MOST_NAMES else ""
    remedy = "read their conditions: homeostat describe KIND NAME"
    return Finding("objects", "WARN", f"not ready: {', '.join(wrong[:_MOST_NAMES])}{more}", remedy)


def _not_ready(kind: Kind, obj: JsonObject) -> str:
    """With its reason and without its message, which others wrote."""
    status: Any = obj.get("status")
    try:
        found = msgspec.convert((status or {}).get("conditions") or [], list[_Condition])
    except (msgspec.ValidationError, AttributeError):
        return ""
    failing = [each for each in found if (each.type, each.status) in {("Ready", "False"), ("Stalled", "True")}]
    if not failing:
        return ""
    metadata = obj["metadata"]
    place = f"{metadata['namespace']}/" if metadata.get("namespace") else ""
    return f"{kind.kind} {place}{metadata['name']} ({failing[0].reason})"

"""Checks what operators need of a server: definitions, permissions, and their own checks."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from typing import TYPE_CHECKING

from homeostat.cli.doctor.definitions import check_definitions
from homeostat.cli.doctor.permissions import check_permissions, permissions_of
from homeostat.client.base import Client
from homeostat.client.discovery import fetch_kinds
from homeostat.objects.json import JsonObject
from homeostat.objects.roles import LEASE_RULES
from homeostat.runtime.checkup import Check, Finding
from homeostat.runtime.description import Description, resource_of
from homeostat.runtime.faces.face import load_reference

if TYPE_CHECKING:
    from homeostat.objects.kind import Kind


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
        elsewhere = "if the leases are in another namespace: --namespace NAME; else "
        yield await check_permissions(
            client, "permissions for leader election", election, remedy=f"{elsewhere}{remedy} --leader-elect"
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

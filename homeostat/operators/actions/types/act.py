"""Carries out the actions of a resource type: its definition, and the migration of its resources."""

from __future__ import annotations

from homeostat.client.base import Client
from homeostat.objects.errors import NotFoundError
from homeostat.objects.kind import DEFINITION
from homeostat.operators.actions.types.decide import Migrate, PutDefinition, RemoveDefinition, TypeAction
from homeostat.operators.actions.types.migration import migrate

_MANAGER = "homeostat-actions"


async def act_on_type(client: Client, action: TypeAction) -> None:
    match action:
        case PutDefinition(definition):
            path = DEFINITION.path("", definition["metadata"]["name"])
            await client.apply(path, definition, manager=_MANAGER, force=True)
        case Migrate(definition):
            await migrate(client, definition)
        case RemoveDefinition(name):
            try:
                await client.delete(DEFINITION.path("", name))
            except NotFoundError:
                return

"""Shell completion of types, and of resources as TYPE/NAME, from the server.

If the server does not answer quickly, there are no completions and no error.
"""

from __future__ import annotations

import click

from homeostat.cli.completion.words import asked
from homeostat.cli.resource.kinds import discover_resources, resource_title
from homeostat.cli.type.stored import list_types
from homeostat.client.base import Client


def complete_types(ctx: click.Context, _: click.Parameter, incomplete: str) -> list[str]:
    return asked(ctx, _type_names, incomplete)


def complete_resources(ctx: click.Context, _: click.Parameter, incomplete: str) -> list[str]:
    """Completes types while several match, and then the resources of the one."""
    word = incomplete.partition("/")[0].lower()

    async def names(client: Client, namespace: str) -> list[str]:
        kinds = [each for each in (await discover_resources(client)).preferred() if each.kind.lower().startswith(word)]
        if len(kinds) != 1:
            return [resource_title(each.kind, "") for each in kinds]
        items, _ = await client.list(kinds[0].path(namespace))
        return [resource_title(kinds[0].kind, each["metadata"]["name"]) for each in items]

    return asked(ctx, names, incomplete)


async def _type_names(client: Client, _: str) -> list[str]:
    return [each.title for each in await list_types(client)]

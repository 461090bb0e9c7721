"""Shell completion of types, and of resources as TYPE/NAME, from the server.

If the server does not answer quickly, there are no completions and no error.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final

import click

from homeostat.cli.console.connection import kubeconfig_paths
from homeostat.cli.console.failure import Failure
from homeostat.cli.resource.kinds import discover_resources, resource_title
from homeostat.cli.type.stored import list_types
from homeostat.client.base import Client, UnreachableError
from homeostat.client.endpoint.kubeconfig import KubeconfigError, load_endpoint
from homeostat.client.http.transport import open_transport
from homeostat.objects.errors import ApiError

_WITHIN_S: Final = 2.0
_Names = Callable[[Client, str], Awaitable[list[str]]]


def complete_types(ctx: click.Context, _: click.Parameter, incomplete: str) -> list[str]:
    return _beginning(incomplete, asyncio.run(_ask(ctx, _type_names)))


def complete_resources(ctx: click.Context, _: click.Parameter, incomplete: str) -> list[str]:
    """Completes types while several match, and then the resources of the one."""
    word = incomplete.partition("/")[0].lower()

    async def names(client: Client, namespace: str) -> list[str]:
        kinds = [each for each in (await discover_resources(client)).preferred() if each.kind.lower().startswith(word)]
        if len(kinds) != 1:
            return [resource_title(each.kind, "") for each in kinds]
        items, _ = await client.list(kinds[0].path(namespace))
        return [resource_title(kinds[0].kind, each["metadata"]["name"]) for each in items]

    return _beginning(incomplete, asyncio.run(_ask(ctx, names)))


async def _type_names(client: Client, _: str) -> list[str]:
    return [each.title for each in await list_types(client)]


async def _ask(ctx: click.Context, names: _Names) -> list[str]:
    message = {name: ctx.params.get(name) or "" for name in ("kubeconfig", "context", "namespace")}
    try:
        endpoint = load_endpoint(kubeconfig_paths(message["kubeconfig"]), context=message["context"])
        async with asyncio.timeout(_WITHIN_S), open_transport(endpoint) as transport:
            return await names(Client(transport), message["namespace"] or endpoint.namespace)
    except (UnreachableError, KubeconfigError, ApiError, Failure, TimeoutError):
        return []


def _beginning(incomplete: str, names: list[str]) -> list[str]:
    return [each for each in names if each.lower().startswith(incomplete.lower())]

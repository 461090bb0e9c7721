"""The words that a shell completes: kinds, names, namespaces and contexts.

A server that does not answer at once completes nothing, and no error is printed in the middle of a command line.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Final

import click

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from homeostat.cli.objects.kinds import Kinds
    from homeostat.client.base import Client
    from homeostat.objects.kind import Kind

Names = Callable[["Client", str], Awaitable[Sequence[str]]]
"""Makes words from a client and a namespace."""
_WITHIN_S: Final = 1.0
_MOST: Final = 500
_METADATA: Final = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json"


def complete_targets(ctx: click.Context, _: click.Parameter, incomplete: str) -> list[str]:
    """KIND, KIND/NAME, or NAME after a KIND."""
    earlier = tuple(ctx.params.get("words") or ())
    return asked(ctx, lambda client, namespace: _targets(client, namespace, earlier, incomplete), incomplete)


def complete_kinds(ctx: click.Context, _: click.Parameter, incomplete: str) -> list[str]:
    async def kinds(client: Client, _: str) -> Sequence[str]:
        return _plurals(await _discover(client))

    return asked(ctx, kinds, incomplete)


def complete_namespaces(ctx: click.Context, _: click.Parameter, incomplete: str) -> list[str]:
    async def namespaces(client: Client, _: str) -> Sequence[str]:
        return await _fetch_names(client, "/api/v1/namespaces")

    return asked(ctx, namespaces, incomplete)


def complete_contexts(ctx: click.Context, _: click.Parameter, incomplete: str) -> list[str]:
    from homeostat.cli.console.kubeconfig import kubeconfig_paths
    from homeostat.client.endpoint.kubeconfig import KubeconfigError, load_contexts

    try:
        return beginning_with(incomplete, load_contexts(kubeconfig_paths(ctx.params.get("kubeconfig") or ""))[1])
    except KubeconfigError:
        return []


def complete_files(_context: click.Context, _: click.Parameter, incomplete: str) -> list[CompletionItem]:
    from click.shell_completion import CompletionItem

    return [CompletionItem(incomplete, type="file")]


def asked(ctx: click.Context, names: Names, incomplete: str) -> list[str]:
    """The words that the server of the command's options gives; none if it does not answer."""
    import asyncio

    from homeostat.cli.console.failure import Failure
    from homeostat.cli.console.kubeconfig import kubeconfig_paths
    from homeostat.client.base import Client, UnreachableError
    from homeostat.client.endpoint.kubeconfig import KubeconfigError, load_endpoint
    from homeostat.client.http.transport import open_transport
    from homeostat.objects.errors import ApiError

    given = {name: ctx.params.get(name) or "" for name in ("kubeconfig", "context", "namespace")}

    async def ask() -> Sequence[str]:
        endpoint = load_endpoint(kubeconfig_paths(given["kubeconfig"]), context=given["context"])
        async with asyncio.timeout(_WITHIN_S), open_transport(endpoint) as transport:
            return await names(Client(transport), given["namespace"] or endpoint.namespace)

    try:
        return beginning_with(incomplete, asyncio.run(ask()))
    except (UnreachableError, KubeconfigError, ApiError, Failure, click.UsageError, TimeoutError):
        return []


def beginning_with(incomplete: str, words: Sequence[str]) -> list[str]:
    return [each for each in words if each.lower().startswith(incomplete.lower())]


async def _targets(client: Client, namespace: str, earlier: Sequence[str], incomplete: str) -> Sequence[str]:
    kinds = await _discover(client)
    if earlier and "/" not in earlier[0]:
        found = await _fetch_names(client, _one(kinds, earlier[0]).path(namespace))
        return [name for name in found if name not in earlier[1:]]
    before, slash, _ = incomplete.partition("/")
    if slash:
        return [f"{before}/{name}" for name in await _fetch_names(client, _one(kinds, before).path(namespace))]
    before, comma, _ = incomplete.rpartition(",")
    return [f"{before}{comma}{plural}" for plural in _plurals(kinds)]


def _one(kinds: Kinds, word: str) -> Kind:
    return kinds.resolve(word)[0]


async def _discover(client: Client) -> Kinds:
    from homeostat.cli.objects.kinds import discover

    return await discover(client)


def _plurals(kinds: Kinds) -> list[str]:
    """The plural of each kind; with its group if another kind of the same plural comes first."""
    found: dict[str, str] = {}
    for kind in kinds:
        if "list" not in kind.verbs:
            continue
        if found.setdefault(kind.plural, kind.group) != kind.group:
            found.setdefault(f"{kind.plural}.{kind.group}", kind.group)
    return sorted(found)


async def _fetch_names(client: Client, path: str) -> list[str]:
    page = await client.request("GET", path, {"limit": _MOST}, accept=_METADATA)
    return [each["metadata"]["name"] for each in page["items"] or ()]

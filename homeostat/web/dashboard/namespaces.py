"""The field that chooses a namespace, on lists and on Home: `namespace` in the query of the page, and of its links."""

from __future__ import annotations

from typing import Final

from homeostat.client.base import Client, UnreachableError
from homeostat.objects.errors import ApiError
from homeostat.objects.kind import NAMESPACE
from homeostat.web.dashboard.html.markup import Markup, el
from homeostat.web.dashboard.html.paging import field, select
from homeostat.web.dashboard.objects.access import may
from homeostat.web.dashboard.objects.table import ACCEPT_METADATA, read_names

_MOST: Final = 500


async def namespace_field(client: Client, chosen: str) -> Markup:
    """A select, or an entry for who may not list the namespaces, or if there are too many."""
    names = await _names(client)
    if names is not None:
        return field("Namespace", "namespace", select("namespace", "all namespaces", names, chosen))
    entry = el(
        "input",
        type="search",
        id="namespace",
        name="namespace",
        value=chosen,
        maxlength=253,
        spellcheck="false",
        autocomplete="off",
    )
    return field("Namespace", "namespace", entry)


async def _names(client: Client) -> list[str] | None:
    if not await may(client, "list", NAMESPACE):
        # A request that is refused on each page would fill the audit log of the server.
        return None
    try:
        listed = read_names(await client.fetch("GET", NAMESPACE.path(""), {"limit": _MOST}, accept=ACCEPT_METADATA))
    except (ApiError, UnreachableError):
        return None
    return None if listed.metadata.token else [each.metadata.name for each in listed.items or ()]

"""The field that chooses a namespace, on lists and on Home: `namespace` in the query of the page, and of its links."""

from __future__ import annotations

from typing import Final

from homeostat.client.base import Client, UnreachableError
from homeostat.objects.errors import ApiError
from homeostat.objects.kind import NAMESPACE
from homeostat.web.dashboard.html.markup import Markup, Node, el
from homeostat.web.dashboard.html.paging import field, select
from homeostat.web.dashboard.objects.access import may
from homeostat.web.dashboard.objects.table import ACCEPT_METADATA, read_names
from homeostat.web.dashboard.visit import Scope, Visit

_MOST: Final = 500


async def namespace_field(client: Client, visit: Visit, every: str = "choose one") -> Markup:
    """A select, or an entry if there are too many. Who may not list the namespaces chooses among those where there may
    be something to see, if any are known; `every` is what they see without a choice.
    """
    names, chosen = await _names(client), visit.namespace
    if names is None and visit.reachable:
        return field("Namespace", "namespace", select("namespace", every, visit.reachable, chosen))
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


def part_note(scope: Scope) -> Node:
    """What is left out must not look as if it did not exist. None for who sees all namespaces."""
    if not scope:
        return None
    names = sorted(scope)
    listed = f"the namespace {names[0]}" if len(names) == 1 else f"the namespaces {', '.join(names)}"
    return el("p", f"Only of {listed}, which you are allowed to read.", class_="note part")


async def _names(client: Client) -> list[str] | None:
    if not await may(client, "list", NAMESPACE):
        # A request that is refused on each page would fill the audit log of the server.
        return None
    try:
        listed = read_names(await client.fetch("GET", NAMESPACE.path(""), {"limit": _MOST}, accept=ACCEPT_METADATA))
    except (ApiError, UnreachableError):
        return None
    return None if listed.metadata.token else [each.metadata.name for each in listed.items or ()]

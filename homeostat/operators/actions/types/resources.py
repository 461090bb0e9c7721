"""Lists the live resources of a type page by page, so that the event loop is not blocked."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from functools import partial
from typing import NamedTuple

from homeostat.client.base import Client
from homeostat.edge.threads import in_thread
from homeostat.objects.errors import NotFoundError
from homeostat.objects.json import JsonObject
from homeostat.objects.kind import DEFINITION
from homeostat.operators.actions.api import RESOURCES, ResourceTypeSpec
from homeostat.operators.actions.types.compatibility import IncompatibleResource, incompatible_resources
from homeostat.operators.actions.types.naming import resource_kind

_PAGE = 100


class Page(NamedTuple):
    items: list[JsonObject]
    total: int
    """The number of these items and of all that follow."""

    @property
    def names(self) -> list[str]:
        return [f"{each['metadata'].get('namespace', '')}/{each['metadata']['name']}" for each in self.items]


class Live:
    def __init__(self, client: Client) -> None:
        self._client = client

    async def definition(self, spec: ResourceTypeSpec) -> JsonObject | None:
        """Returns the definition of the type's kind on the server."""
        try:
            return await self._client.get(DEFINITION.path("", f"{resource_kind(spec).plural}.{RESOURCES}"))
        except NotFoundError:
            return None

    async def pages(self, definition: JsonObject, *, size: int = _PAGE) -> AsyncIterator[Page]:
        spec = definition["spec"]
        version = next((each["name"] for each in spec["versions"] if each.get("storage")), "")
        path, token = f"/apis/{spec['group']}/{version}/{spec['names']['plural']}", ""
        while True:
            try:
                page = await self._client.request("GET", path, {"limit": size, "continue": token})
            except NotFoundError:
                # A definition that is not served yet has no resources.
                return
            items, metadata = page["items"], page["metadata"]
            yield Page(items, len(items) + metadata.get("remainingItemCount", 0))
            if not (token := metadata.get("continue", "")):
                return
            await asyncio.sleep(0)

    async def first(self, definition: JsonObject, most: int) -> Page:
        async for page in self.pages(definition, size=most):
            return page
        return Page([], 0)

    async def incompatible(
        self, wanted: JsonObject, found: JsonObject, *, version: str = ""
    ) -> list[IncompatibleResource]:
        """Returns the live resources of the found definition that the wanted one would refuse, at its storage version
        unless `version` is given.
        """
        found_ones: list[IncompatibleResource] = []
        async for page in self.pages(found):
            check = partial(incompatible_resources, wanted, page.items, version=version)
            found_ones += await in_thread(check, user="resource types")
        return found_ones

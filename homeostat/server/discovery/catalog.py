"""The discovery and OpenAPI documents, built on demand and cached until a kind is added or removed."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from homeostat.objects.errors import NotFoundError
from homeostat.server.discovery import groups
from homeostat.server.discovery.document import Document
from homeostat.server.kinds.registry import Kind, Registry

if TYPE_CHECKING:
    from homeostat.server.discovery.openapi import OpenApi
    from homeostat.server.discovery.openapi_v2 import Form


class Catalog:
    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self._generation = -1
        self._kinds: list[Kind] = []
        self._documents: dict[tuple[str, bool], Document] = {}
        self._has_openapi = False

    @cached_property
    def _openapi(self) -> OpenApi:
        from homeostat.server.discovery.openapi import OpenApi

        return OpenApi()

    def discovery(self, path: str, *, is_aggregated: bool) -> Document:
        """The document at `/api`, `/apis` or below; `NotFoundError` where nothing is served."""
        self._refresh()
        key = (path, is_aggregated)
        found = self._documents.get(key)
        if found is None:
            found = self._make(path, is_aggregated=is_aggregated)
            if found is None:
                raise NotFoundError("the server could not find the requested resource")
            self._documents[key] = found
        return found

    async def openapi(self, path: str) -> Document:
        """The document at `/openapi/v3` or below."""
        openapi = self._current_openapi()
        found = await (openapi.document(path) if path else openapi.index())
        if found is None:
            raise NotFoundError("the server could not find the requested resource")
        return found

    async def openapi_v2(self, form: Form) -> Document:
        return await self._current_openapi().whole(form)

    def paths(self) -> list[str]:
        """Of all groups and versions."""
        self._refresh()
        paths = ["/api", "/apis", "/openapi/v2", "/openapi/v3"]
        for group, versions in groups.groups(self._kinds).items():
            paths += [f"/apis/{group}"] if group else []
            paths += [f"/apis/{group}/{version}" if group else f"/api/{version}" for version in versions]
        return paths

    def _current_openapi(self) -> OpenApi:
        self._refresh()
        if not self._has_openapi:
            self._openapi.update(self._kinds)
            self._has_openapi = True
        return self._openapi

    def _make(self, path: str, *, is_aggregated: bool) -> Document | None:
        match path.strip("/").split("/"):
            case ["api"]:
                return groups.aggregated_core(self._kinds) if is_aggregated else groups.api_versions()
            case ["apis"]:
                return groups.aggregated_groups(self._kinds) if is_aggregated else groups.group_list(self._kinds)
            case ["apis", group]:
                return groups.group(self._kinds, group)
            case ["api", version]:
                return groups.resource_list(self._kinds, "", version)
            case ["apis", group, version]:
                return groups.resource_list(self._kinds, group, version)
        return None

    def _refresh(self) -> None:
        if self._generation == self._registry.generation:
            return
        self._generation = self._registry.generation
        self._kinds = self._registry.all()
        self._documents.clear()
        self._has_openapi = False

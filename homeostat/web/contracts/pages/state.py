"""The state of this server: `/health`, `/metrics`, `/api/sources`, `/api/refresh`, `/api/debug` with diagnostics."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec

from homeostat import __version__
from homeostat.edge.reply import Reply
from homeostat.edge.request import Request
from homeostat.objects.json import Json, JsonObject, encode
from homeostat.operators.contracts.engine.services.catalogue import Catalogue, Service
from homeostat.web.contracts.context import ContractsFace

REFRESH_EVERY_S: Final = 5.0
"""Refreshes within this time count as one."""


class State:
    def __init__(self, face: ContractsFace) -> None:
        self._face = face
        self._refreshed_at = float("-inf")

    async def health(self, request: Request, captured: Mapping[str, str]) -> Reply:
        return Reply(200, encode({"status": "ok", "version": __version__}))

    async def metrics(self, request: Request, captured: Mapping[str, str]) -> Reply:
        view = await self._face.visibility.view(request)
        enabled = sum(bool(each["enabled"]) for each in self._sources())
        return Reply(200, encode({"serviceCount": len(view), "sourceCount": enabled}))

    async def sources(self, request: Request, captured: Mapping[str, str]) -> Reply:
        await self._face.visibility.view(request)
        return Reply(200, encode({"sources": self._sources(), "discovering": self._face.repositories.is_discovering}))

    async def refresh(self, request: Request, captured: Mapping[str, str]) -> Reply:
        """The cluster is watched; only registries are asked again."""
        await self._face.visibility.view(request)
        is_due = self._face.seconds() - self._refreshed_at >= REFRESH_EVERY_S
        if is_due:
            self._refreshed_at = self._face.seconds()
            self._face.library.forget()
            self._face.repositories.refresh()
        return Reply(200, encode({"status": "ok", "refreshed": is_due}))

    async def debug_sources(self, request: Request, captured: Mapping[str, str]) -> Reply:
        view = await self._face.visibility.view(request)
        problems = self._face.repositories.problems
        return Reply(
            200,
            encode(
                {
                    "sources": self._sources(),
                    "diagnostics": {
                        "namespace": self._face.settings.namespace,
                        "repositories": [
                            {"name": each, "problem": problems.get(each, "")} for each in self._face.repositories.names
                        ],
                        "corsOrigin": self._face.settings.cors_origin,
                    },
                    "live": {"serviceCount": len(view), "serviceNames": sorted(view.services)},
                }
            ),
        )

    async def debug_services(self, request: Request, captured: Mapping[str, str]) -> Reply:
        view = await self._face.visibility.view(request)
        merged = [_merged(each) for each in view.in_order()]
        per_source = [_per_source(view, each) for each in ("k8s", "oci")]
        return Reply(200, encode({"perSource": per_source, "aggregatedList": merged}))

    def _sources(self) -> list[JsonObject]:
        settings, names = self._face.settings, self._face.repositories.names
        where = f'of the namespace "{settings.namespace}"' if settings.namespace else "of all namespaces"
        own = f"{len(names)} configured repositories, and those of Pactos" if names else "the repositories of Pactos"
        return [
            {"type": "k8s", "enabled": True, "reason": f"watches Pactos {where}"},
            {"type": "oci", "enabled": True, "reason": f"reads {own}"},
            {"type": "cache", "enabled": True, "reason": "keeps pulled bundles in memory"},
            {"type": "local", "enabled": False, "reason": "a server reads no local directories"},
        ]


def _merged(service: Service) -> JsonObject:
    first = service.primary
    return {
        "name": service.name,
        "mergedSource": first.sources[0],
        "mergedSources": first.sources,
        "mergedStatus": first.status,
        "mergedVersion": first.version,
        "presentInSources": sorted({source for each in service.instances.values() for source in each.sources}),
    }


def _per_source(view: Catalogue, source: str) -> JsonObject:
    found = [each for each in view.in_order() if any(source in one.sources for one in each.instances.values())]
    listed: list[Json] = [msgspec.json.decode(view.entry(each)) for each in found]
    return {"sourceType": source, "count": len(found), "services": listed}

"""The plugins of this process, discovered on first use, and the routes that list them."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any, Final, Protocol

import msgspec

from homeostat import __version__
from homeostat.edge.reply import Reply
from homeostat.edge.request import Request
from homeostat.objects.json import JsonObject, encode
from homeostat.operators.actions.plugins.catalog import ACTIONS, INPUTS, Catalog, claimed_types, discover, joined
from homeostat.operators.actions.plugins.catalog import without_programs as safe_ones
from homeostat.operators.actions.settings import read_settings
from homeostat.runtime.catalog import offered
from homeostat.web.kit.callers import require
from homeostat.web.kit.gate import Gate

_ITSELF: Final[JsonObject] = {"name": "http", "version": __version__}
"""This API is an input too."""


class Known(msgspec.Struct, frozen=True):
    """`claims` are the plugins that claim a type, by the name of the type."""

    actions: Catalog[Any]
    claims: dict[str, str]


class Plugins:
    """`environment` is the environment of the operator."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._environment = environment
        self._known: Known | None = None

    async def known(self) -> Known:
        if self._known is None:
            self._known = await asyncio.to_thread(self._find)
        return self._known

    def _find(self) -> Known:
        from homeostat.external.rest.client import RestClient
        from homeostat.operators.actions.plugins.plugin import Tools

        settings = read_settings(self._environment)
        tools = Tools(RestClient(), self._environment)
        actions = discover("homeostat.actions", tools, ours=ACTIONS, enabled=settings.enabled)
        reconcilers = discover("homeostat.reconcilers", tools)
        found = joined(actions, reconcilers)
        return Known(found if settings.allows_programs else safe_ones(found), claimed_types(reconcilers))


class Gated(Protocol):
    """The part of a face that these pages need."""

    @property
    def gate(self) -> Gate: ...
    @property
    def plugins(self) -> Plugins: ...


class PluginPages:
    def __init__(self, face: Gated) -> None:
        self._face = face

    async def list_actions(self, request: Request, captured: Mapping[str, str]) -> Reply:
        await require(self._face.gate, request, "view_plugins")
        actions = (await self._face.plugins.known()).actions
        return Reply(200, encode([{"name": name, "version": _version(actions.get(name))} for name in actions]))

    async def list_inputs(self, request: Request, captured: Mapping[str, str]) -> Reply:
        await require(self._face.gate, request, "view_plugins")
        return Reply(200, encode([_ITSELF, *await asyncio.to_thread(_inputs)]))


def _inputs() -> list[JsonObject]:
    """Input plugins that can be imported. The status of a ResourceInput says why another cannot."""
    found: dict[str, JsonObject] = {}
    for point in offered("homeostat.inputs", INPUTS):
        try:
            loaded = point.load()
        except Exception:  # noqa: S112 - importing a foreign module may raise anything
            continue
        found.setdefault(point.name, {"name": point.name, "version": _version(loaded)})
    return [found[name] for name in sorted(found)]


def _version(plugin: object) -> str:
    found: str = getattr(plugin, "version", "")
    return found

"""What resources are kept with: plugins, secret stores and a way out over HTTP.

Made when the first type wants it, and anew in each term of leading: a plane without types does not pay for it, and
nothing that was recorded in an earlier term is taken for something that nobody else can have started since.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from homeostat.client.base import Client
from homeostat.operators.actions.settings import ActionSettings
from homeostat.runtime.setup import Setup

if TYPE_CHECKING:
    from homeostat.operators.actions.operator import Dependencies
    from homeostat.operators.actions.plugins.catalog import Catalog
    from homeostat.operators.actions.plugins.plugin import Plugin

log = logging.getLogger(__name__)


@asynccontextmanager
async def equipped(setup: Setup, settings: ActionSettings) -> AsyncIterator[Dependencies]:
    # Some tenths of a second of imports, which would hold up everybody else in this process.
    await asyncio.to_thread(_import_all)
    async with open_dependencies(setup.client, setup.environment, setup.directory, settings) as dependencies:
        yield dependencies


@asynccontextmanager
async def open_dependencies(
    client: Client, environment: Mapping[str, str], directory: Path, settings: ActionSettings
) -> AsyncIterator[Dependencies]:
    """Also for a process that only asks what would be done."""
    from homeostat.edge.proxies import read_proxies
    from homeostat.external.rest.client import RestClient
    from homeostat.external.rest.settings import RestSettings
    from homeostat.operators.actions.operator import Dependencies
    from homeostat.operators.actions.plugins.catalog import (
        ACTIONS,
        claimed_types,
        discover,
        disputed_types,
        joined,
        without_programs,
    )
    from homeostat.operators.actions.plugins.plugin import Tools
    from homeostat.operators.actions.stores import secret_stores

    async with (
        RestClient(RestSettings(proxies=read_proxies(environment))) as http,
        secret_stores(environment) as stores,
    ):
        tools = Tools(http, environment)
        actions = discover("homeostat.actions", tools, ours=ACTIONS, enabled=settings.enabled)
        reconcilers = discover("homeostat.reconcilers", tools)
        plugins: Catalog[Plugin[Any]] = joined(actions, reconcilers)
        if not settings.allows_programs:
            plugins = without_programs(plugins)
        for name in sorted(settings.configs.keys() - {*plugins}):
            log.warning("PLUGIN_CONFIGS names a plugin that is not there", extra={"plugin": name})
        yield Dependencies(
            client=client,
            plugins=plugins,
            stores=stores,
            directory=directory,
            claims=claimed_types(reconcilers),
            disputes=disputed_types(reconcilers),
            settings=settings,
        )


def _import_all() -> None:
    from homeostat.operators.actions.plugins.catalog import ACTIONS

    for each in ("homeostat.operators.actions.operator", *ACTIONS.values()):
        import_module(each.partition(":")[0])

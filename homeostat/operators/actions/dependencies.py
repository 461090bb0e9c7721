"""What the controllers of all resource types share: plugins, secret stores, and a client for HTTP.

It is opened when the first type needs it, and again each time that this process becomes leader. A plane without types
does not pay for it, and a run that was recorded under an earlier leadership is never taken for one that only this
process can have started.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from homeostat.client.base import Client
from homeostat.operators.actions.settings import ActionSettings
from homeostat.runtime.setup import Setup

if TYPE_CHECKING:
    from homeostat.external.secrets.stores import SecretStore
    from homeostat.operators.actions.plugins.catalog import Catalog
    from homeostat.operators.actions.plugins.plugin import Plugin

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Dependencies:
    """Valid while this process is the leader: the next leader may start the runs that this one recorded."""

    client: Client
    plugins: Catalog[Plugin[Any]]
    stores: Mapping[str, SecretStore]
    directory: Path
    claims: Mapping[str, str] = field(default_factory=dict)
    """Which plugin claims a type, by the type's name."""
    disputes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Which plugins claim the same type."""
    settings: ActionSettings = ActionSettings()  # noqa: RUF009
    now: Callable[[], datetime] = lambda: datetime.now(UTC)
    chance: Callable[[], float] = random.random
    fresh: set[str] = field(default_factory=set)
    """Tickets of runs that this process has recorded and not started."""


@asynccontextmanager
async def open_in_setup(setup: Setup, settings: ActionSettings) -> AsyncIterator[Dependencies]:
    # The imports take some tenths of a second and would block the event loop.
    await asyncio.to_thread(_import_all)
    async with open_dependencies(setup.client, setup.environment, setup.directory, settings) as dependencies:
        yield dependencies


@asynccontextmanager
async def open_dependencies(
    client: Client, environment: Mapping[str, str], directory: Path, settings: ActionSettings
) -> AsyncIterator[Dependencies]:
    """Also for a process that only makes plans."""
    from homeostat.edge.proxies import read_proxies
    from homeostat.external.rest.client import RestClient
    from homeostat.external.rest.settings import RestSettings
    from homeostat.operators.actions.plugins.catalog import (
        ACTIONS,
        claimed_types,
        discover,
        disputed_types,
        joined,
        without_programs,
    )
    from homeostat.operators.actions.plugins.plugin import Tools
    from homeostat.operators.actions.plugins.stores import secret_stores

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
            log.warning("PLUGIN_CONFIGS names an unknown plugin", extra={"plugin": name})
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

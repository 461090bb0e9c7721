"""Resources of types that users declare, kept at their declared state by action plugins; with a cluster or without.

A `ResourceType` becomes a kind of the group `resources.homeostat.dev`; what is to be done for its resources is for the
plugin that the type names. A type that is being deleted stays until its last resource is gone.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterable
from pathlib import Path

from homeostat.external.exchange import Http
from homeostat.operators.actions.api import KINDS, RESOURCE_TYPE, ResourceType
from homeostat.operators.actions.discovery import ACTIONS, claimed_types, discover, joined
from homeostat.operators.actions.naming import kind_name
from homeostat.operators.actions.offices import Offices
from homeostat.operators.actions.operator import Means
from homeostat.operators.actions.plugin import Tools
from homeostat.operators.actions.secrets import EnvironmentStore, FileStore, SecretStore
from homeostat.operators.actions.sweep import sweep_regularly
from homeostat.operators.actions.typeoperator import TypeOperator
from homeostat.runtime.index import Name
from homeostat.runtime.look import Options
from homeostat.runtime.predicates import generation_changed
from homeostat.runtime.routes import Route, to_mapped
from homeostat.runtime.setup import Setup

__all__ = ["KINDS", "register"]

FINALIZER = "homeostat.dev/definition"
SECRETS_DIRECTORY = "HOMEOSTAT_SECRETS"


def register(setup: Setup) -> None:
    http = Http()
    tools = Tools(http, os.environ)
    actions, reconcilers = discover("homeostat.actions", tools, ours=ACTIONS), discover("homeostat.reconcilers", tools)
    means = Means(
        client=setup.client,
        plugins=joined(actions, reconcilers),
        stores=_stores(),
        directory=setup.directory,
        claims=claimed_types(reconcilers),
    )
    types = setup.watch(RESOURCE_TYPE.kind, ResourceType)
    operator = TypeOperator(setup.client, lambda: types.cache)
    controller = setup.control(RESOURCE_TYPE.kind, ResourceType, operator, Options(finalizer=FINALIZER), name="types")
    # A type of the same kind adds a version to the definition, or stands back behind an older one.
    siblings: Route[ResourceType] = to_mapped(RESOURCE_TYPE.kind, lambda each: _siblings(each, types.cache))
    controller.also(types, siblings, when=generation_changed)
    offices = Offices(setup, types.cache, means)
    types.add_handler(offices.note)
    setup.run(offices.run)
    setup.run(means.hold_term)
    setup.run(lambda: _close_at_end(http))
    setup.run(lambda: sweep_regularly(setup.client, offices.keep_of))


async def _close_at_end(http: Http) -> None:
    try:
        await asyncio.Event().wait()
    finally:
        await http.close()


def _siblings(changed: ResourceType, types: Iterable[ResourceType]) -> list[Name]:
    kind = kind_name(changed.spec.name)
    return [("", each.metadata.name) for each in types if kind_name(each.spec.name) == kind]


def _stores() -> dict[str, SecretStore]:
    """Secrets of the process: variables with a prefix of their own, and files below a directory that is named."""
    stores: dict[str, SecretStore] = {"env": EnvironmentStore(os.environ)}
    if directory := os.environ.get(SECRETS_DIRECTORY):
        stores["file"] = FileStore(Path(directory))
    return stores

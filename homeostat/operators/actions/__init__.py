"""Keeps resources of user-declared types at their declared state by action plugins, with a cluster or without.

A `ResourceType` becomes a kind of the group `resources.homeostat.dev`. The plugin that the type names reconciles its
resources. A type in use cannot be deleted (`types/guard.py`). A server that does not ask beforehand keeps it, with a
finalizer, until its last resource is gone.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from homeostat.operators.actions.access import RULES, USER_RULES
from homeostat.operators.actions.api import KINDS, RESOURCE_TYPE, ResourceType
from homeostat.operators.actions.deployment import ALERTS, PANELS
from homeostat.operators.actions.types.naming import kind_of_type
from homeostat.runtime.faces.face import Face

if TYPE_CHECKING:
    from homeostat.runtime.cache.index import Name
    from homeostat.runtime.setup import Setup
    from homeostat.runtime.watch.routes import Route

__all__ = [
    "ALERTS",
    "FACES",
    "KINDS",
    "PANELS",
    "RULES",
    "SETTINGS",
    "USER_RULES",
    "WAKES",
    "check_environment",
    "register",
]

FACES = (
    Face(
        name="rest",
        title="REST API",
        prefixes=("/",),
        open="homeostat.web.actions.serving:open_app",
        pages=(("REST API", "/api/v1"), ("dashboard", "/dashboard")),
        kinds="homeostat.web.actions.access:KINDS",
        rules="homeostat.web.actions.access:RULES",
        settings=(
            "INITIAL_ADMIN_PASSWORD",
            "INITIAL_ADMIN_USERNAME",
            "JWT_EXPIRY_HOURS",
            "JWT_SECRET_KEY",
            "LDAP_SYNC_INTERVAL",
            "LDAP_URL",
        ),
        check="homeostat.web.identity.settings:check_settings",
        sign_in="/dashboard/login/once",
        opened_by=("LDAP_SYNC_INTERVAL",),
    ),
)
WAKES = KINDS
SETTINGS = (
    "BACKOFF_BASE_DELAY",
    "BACKOFF_JITTER_FACTOR",
    "BACKOFF_MAX_DELAY",
    "ENABLED_ACTION_PLUGINS",
    "MAX_CONCURRENT_RECONCILES",
    "PLUGIN_CONFIGS",
    "RECONCILE_INTERVAL",
    "VAULT_ADDR",
)
"""Without VAULT_ADDR no other setting of a Vault is read."""

FINALIZER = "homeostat.dev/definition"
_RECONCILE_TIMEOUT_S = 3600.0
"""A reconciliation of a type may rewrite every resource of it."""


def register(setup: Setup) -> None:
    # Imported here: the dashboard needs the kinds of this package, and not its controllers.
    from homeostat.operators.actions.controllers import ResourceControls
    from homeostat.operators.actions.inputs.controller import InputControl
    from homeostat.operators.actions.runs.sweep import sweep_regularly
    from homeostat.operators.actions.settings import read_settings
    from homeostat.operators.actions.types.guard import TypeGuard
    from homeostat.operators.actions.types.operator import TypeOperator
    from homeostat.runtime.control.reconcile import Options
    from homeostat.runtime.watch.predicates import generation_changed
    from homeostat.runtime.watch.routes import to_mapped

    settings = read_settings(setup.environment)
    types = setup.watch(RESOURCE_TYPE.kind, ResourceType)
    operator = TypeOperator(setup.client, lambda: types.cache)
    options = Options(finalizer=FINALIZER, timeout_s=_RECONCILE_TIMEOUT_S, decides_in_thread=True)
    controller = setup.control(RESOURCE_TYPE.kind, ResourceType, operator, options, name="types")
    # Another type of the same kind adds a version to the definition, or is a duplicate of an older one.
    siblings: Route[ResourceType] = to_mapped(RESOURCE_TYPE.kind, lambda each: _siblings(each, types.cache))
    controller.also(types, siblings, when=generation_changed)
    controls = ResourceControls(setup, types.cache, settings)
    setup.metrics.register(controls.series)
    types.add_handler(controls.note)
    setup.guard(RESOURCE_TYPE, TypeGuard(setup.client).check)
    setup.run(controls.run)
    setup.run(InputControl(setup, types).run)
    setup.run(lambda: sweep_regularly(setup.client, controls.keep_of, namespace=setup.namespace))


def check_environment(environment: Mapping[str, str]) -> None:
    """Raises `ValueError` for settings that `register`, or the first type, would refuse."""
    from homeostat.external.vault.settings import vault_settings
    from homeostat.operators.actions.settings import read_settings

    read_settings(environment)
    vault_settings(environment)


def _siblings(changed: ResourceType, types: Iterable[ResourceType]) -> list[Name]:
    kind = kind_of_type(changed.spec)
    return [("", each.metadata.name) for each in types if kind_of_type(each.spec) == kind]

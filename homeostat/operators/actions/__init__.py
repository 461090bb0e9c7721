"""Keeps resources of user-declared types at their declared state by action plugins, with a cluster or without.

A `ResourceType` becomes a kind of the group `resources.homeostat.dev`. The plugin that the type names reconciles its
resources. A type in use cannot be deleted (`types/guard.py`). A server that does not ask beforehand keeps it, with a
finalizer, until its last resource is gone.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from homeostat.operators.actions.access import RESERVED, RULES, USER_RULES
from homeostat.operators.actions.api import KINDS
from homeostat.operators.actions.deployment import ALERTS, PANELS
from homeostat.operators.deferred import deferred
from homeostat.runtime.faces.face import Face

if TYPE_CHECKING:
    from homeostat.operators.actions.controllers import register

__all__ = [
    "ALERTS",
    "FACES",
    "KINDS",
    "PANELS",
    "RESERVED",
    "RULES",
    "SETTINGS",
    "USER_RULES",
    "WAKES",
    "check_environment",
    "register",
]
__getattr__ = deferred(__name__, __all__, {"register": "controllers"})

FACES = (
    Face(
        name="rest",
        title="REST API",
        prefixes=("/",),
        open="homeostat.web.actions.serving:open_app",
        first="homeostat.web.dashboard.login.first:open_first_of_rest",
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


def check_environment(environment: Mapping[str, str]) -> None:
    """Raises `ValueError` for settings that `register`, or the first type, would refuse."""
    from homeostat.external.vault.settings import vault_settings
    from homeostat.operators.actions.settings import read_settings

    read_settings(environment)
    vault_settings(environment)

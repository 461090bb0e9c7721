"""Asks plugins in this process what applying would change. Nothing is written anywhere.

A plugin gets the same job as from the operator, with the secrets of this machine. The answer is unknown if a secret, a
program or a plugin is missing on this machine, if only a run of the plan finds out, or if the other system asks to
wait.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import msgspec

from homeostat.cli.console.failure import Failure
from homeostat.client.base import Client
from homeostat.external.secrets.secrets import SecretError
from homeostat.external.vault.session import VaultError, VaultRefusedError
from homeostat.objects.decision import Wait
from homeostat.objects.json import JsonObject
from homeostat.operators.actions.api import Resource, ResourceTypeSpec
from homeostat.operators.actions.dependencies import Dependencies, open_dependencies
from homeostat.operators.actions.operator import ResourceOperator
from homeostat.operators.actions.plugins.catalog import PluginOffError, UnknownPluginError
from homeostat.operators.actions.runs.jobs import effective_action
from homeostat.operators.actions.settings import ALLOW_PROGRAMS, read_settings
from homeostat.operators.actions.world import Fault, Plan
from homeostat.runtime.cache.informer import Informers
from homeostat.runtime.control.writes import Scope, Watched, writing_in

_UNKNOWN_HERE: Final = frozenset({SecretError.reason, VaultError.reason, VaultRefusedError.reason})
_PLUGINS: Final = frozenset({UnknownPluginError.reason, PluginOffError.reason})
"""The operator's machine may have plugins that this machine does not have."""


class Answer(msgspec.Struct, frozen=True):
    """One of three: a plan, why this machine cannot make one, or an error."""

    plugin: str
    plan: Plan | None = None
    unknown: str = ""
    error: str = ""

    @property
    def may_change(self) -> bool:
        return bool(self.unknown) or (self.plan is not None and self.plan.is_changed is not False)


@contextmanager
def read_only(client: Client) -> Iterator[Client]:
    """A client that only reads: a write raises `RefusedWriteError`."""
    with writing_in(Scope(lambda: "a plan changes nothing")):
        yield client.over(lambda transport: Watched(transport, Informers(client)))


@asynccontextmanager
async def plugins_of_this_machine(
    client: Client, *, allows_programs: bool, allows_vault: bool
) -> AsyncIterator[Dependencies]:
    """Authors of types on the server decide which programs run and where secrets are sent. Therefore a token of a Vault
    in the environment is used only if the user allows it.
    """
    environment = {**os.environ, ALLOW_PROGRAMS: "true" if allows_programs else ""}
    if not allows_vault:
        environment.pop("VAULT_ADDR", None)
    async with AsyncExitStack() as stack:
        directory = Path(stack.enter_context(TemporaryDirectory(prefix="homeostat-plan-")))
        try:
            settings = read_settings(environment)
            dependencies = await stack.enter_async_context(open_dependencies(client, environment, directory, settings))
        except ValueError as error:
            raise Failure(str(error)) from error
        yield dependencies


async def ask(dependencies: Dependencies, spec: ResourceTypeSpec, stored: JsonObject, namespace: str) -> Answer:
    """`spec` is the type that the operator would use."""
    resource = _resource(stored, namespace)
    plugin = effective_action(resource, spec.action, claimed=dependencies.claims.get(spec.name, "")).plugin
    try:
        found = await ResourceOperator(lambda _: spec, dependencies).plan(resource)
    except Wait as wait:
        return Answer(plugin, unknown=f"{wait.reason}: {wait}")
    match found:
        case Plan(is_changed=None):
            return Answer(plugin, found, unknown="only a plan run shows the changes; the operator starts one")
        case Plan():
            return Answer(plugin, found)
        case Fault(reason, message) if reason in _UNKNOWN_HERE:
            return Answer(plugin, unknown=message)
        case Fault(reason, message) if not plugin or reason in _PLUGINS:
            return Answer(plugin, unknown=f"on this machine {message}")
        case Fault(reason, message):
            return Answer(plugin, error=f"{reason}: {message}")


def _resource(stored: JsonObject, namespace: str) -> Resource:
    """A resource that does not exist yet gets a random uid."""
    metadata = {"uid": str(uuid.uuid4()), "generation": 1, **stored["metadata"], "namespace": namespace}
    return msgspec.json.decode(msgspec.json.encode({**stored, "metadata": metadata}), type=Resource)

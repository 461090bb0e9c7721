"""Makes the job of an input plugin from a `ResourceInput`, and maps the errors of plugins.

An author of a `ResourceInput` is trusted with its namespace only, so secrets come from that namespace.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

from homeostat.client.base import Client, UnreachableError
from homeostat.external.files import make_private
from homeostat.external.git.errors import GitError
from homeostat.external.process import ProcessError
from homeostat.external.rest.errors import RestError
from homeostat.external.secrets.kubernetes import NamespaceStore
from homeostat.external.secrets.secrets import NAMESPACED, SecretError, Secrets, stores_named
from homeostat.objects.decision import Stalled
from homeostat.objects.errors import ApiError
from homeostat.objects.kind import Kind
from homeostat.operators.actions.inputs.api import ResourceInput
from homeostat.operators.actions.inputs.decide import ReadFailure
from homeostat.operators.actions.inputs.plugins.plugin import Input, InputError, InputJob
from homeostat.operators.actions.inputs.writer import Writer
from homeostat.operators.actions.plugins.catalog import Catalog, UnknownPluginError
from homeostat.runtime.control.writes import RefusedWriteError

log = logging.getLogger(__name__)

_EXPECTED = (InputError, SecretError, RestError, ProcessError, GitError)
_LONGEST_MESSAGE = 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class InputDependencies:
    """What all inputs share. `kinds` returns the kinds of resources that are served now, `announced` the names of all
    kinds that types declare, served or not.
    """

    client: Client
    plugins: Catalog[Input[Any]]
    directory: Path
    kinds: Callable[[], Mapping[str, Kind]]
    announced: Callable[[], Collection[str]] = tuple
    now: Callable[[], datetime] = lambda: datetime.now(UTC)
    seconds: Callable[[], float] = lambda: asyncio.get_running_loop().time()

    def writer(self, obj: ResourceInput) -> Writer:
        return Writer(self.client, self.kinds(), namespace=obj.metadata.namespace, owner=obj.metadata.name)


def prepare(
    dependencies: InputDependencies, obj: ResourceInput, *, known: str = ""
) -> tuple[Input[Any], InputJob[Any]]:
    """Raises `Stalled` if no retry can help."""
    try:
        plugin = dependencies.plugins.get(obj.spec.plugin)
        config: msgspec.Struct = msgspec.convert(obj.spec.config, plugin.config)
    except UnknownPluginError as error:
        raise Stalled(error.reason, message=str(error)) from error
    except msgspec.ValidationError as error:
        raise Stalled("InvalidConfig", message=f"spec.config: {error}") from error
    if stores := stores_named(config) - {NAMESPACED}:
        message = (
            f'inputs may not read secrets of the store "{min(stores)}"; use the store "{NAMESPACED}", key "name/key"'
        )
        raise Stalled("InvalidConfig", message=f"spec.config: {message}")
    metadata = obj.metadata
    make_private(dependencies.directory)
    job = InputJob(
        namespace=metadata.namespace,
        name=metadata.name,
        config=config,
        secrets=Secrets({NAMESPACED: NamespaceStore(dependencies.client, metadata.namespace)}),
        directory=dependencies.directory / metadata.uid,
        known=known,
    )
    return plugin, job


def failure_of(error: Exception, plugin: str, secrets: Secrets) -> ReadFailure:
    """Removes secrets: the texts of errors come from the plugin and may contain anything."""
    message = (secrets.scrub(str(error)) or type(error).__name__)[:_LONGEST_MESSAGE]
    if isinstance(error, _EXPECTED):
        return ReadFailure(error.reason, message)
    if not isinstance(error, ApiError | UnreachableError | RefusedWriteError | TimeoutError | OSError):
        log.error("input plugin failed", extra={"plugin": plugin, "error": type(error).__name__, "text": message})
        return ReadFailure("PluginBroke", f"{type(error).__name__}: {message}")
    return ReadFailure("Unavailable", message)

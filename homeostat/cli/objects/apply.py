"""`homeostat apply`: server-side apply of files, in an order that works from nothing."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

import click

from homeostat.cli.console.connection import Connection, connected
from homeostat.cli.console.failure import Failure, Refusals
from homeostat.cli.console.output import name_of, title
from homeostat.cli.files.manifests import files_option, read_manifests
from homeostat.cli.objects.kinds import Kinds, discover
from homeostat.client.base import APPLY_PATCH
from homeostat.objects.errors import ApiError, ConflictError, NotFoundError, UnavailableError
from homeostat.objects.json import JsonObject

MANAGER = "homeostat"
_ESTABLISHED_WITHIN_S = 30.0
_POLL_S = 0.05
_RETRY_S = 0.2
TAKE_OVER = "; to take these fields over use --force-conflicts"
# Metadata that changes even if an apply changes nothing else.
_BOOKKEEPING = frozenset({"managedFields", "resourceVersion", "generation"})


@click.command(short_help="Create or update the objects of files.")
@files_option(is_required=True)
@click.option("--dry-run", is_flag=True, help="Let the server check everything and store nothing.")
@click.option("--force-conflicts", is_flag=True, help="Take over fields that another manager has set.")
@connected
async def command(connection: Connection, files: tuple[str, ...], dry_run: bool, force_conflicts: bool) -> None:
    """Create or update the objects of files, by server-side apply.

    CustomResourceDefinitions and namespaces are applied first, and the command waits until the new kinds are served. If
    some objects are refused, the others are still applied.

    \b
    Examples:
      homeostat apply -f web.yaml
      homeostat apply -f manifests/ --dry-run
      cat web.yaml | homeostat apply -f -
    """
    manifests = read_manifests(files)
    run = Applying(connection, await discover(connection.client), dry_run=dry_run, force=force_conflicts)
    definitions = [obj for obj in manifests if obj["kind"] == "CustomResourceDefinition"]
    for obj in manifests[: len(definitions)]:
        await run.apply(obj)
    if definitions and not dry_run:
        await run.wait_for_kinds(definitions)
    for obj in manifests[len(definitions) :]:
        await run.apply(obj)
    run.refusals.exit_if_any()


class Applying:
    """One run of `apply`. Prints a line for each object and counts those that the server refused.

    `naming` makes the name of an object in messages. `before` says how to install a missing kind. While the server
    answers 503, each object is retried for `patience_s`.
    """

    def __init__(
        self,
        connection: Connection,
        kinds: Kinds,
        *,
        dry_run: bool = False,
        force: bool = False,
        naming: Callable[[JsonObject], str] = title,
        before: str = "apply its definition",
        patience_s: float = 0.0,
    ) -> None:
        self._client = connection.client
        self._namespace = connection.namespace
        self._kinds = kinds
        self._is_dry = dry_run
        self._naming, self._before, self._patience_s = naming, before, patience_s
        self._query = apply_query(dry_run=dry_run, force=force)
        self.refusals = Refusals()

    async def apply(self, obj: JsonObject) -> JsonObject | None:
        """The stored object; None if it was refused."""
        try:
            outcome, stored = await self._apply(obj)
        except ApiError as error:
            self._refuse(obj, error.message + (TAKE_OVER if is_field_conflict(error) else ""))
        except Failure as error:
            self._refuse(obj, error.message)
        else:
            click.echo(f"{self._naming(obj)} {outcome}{' (dry run)' if self._is_dry else ''}")
            return stored
        return None

    async def _apply(self, obj: JsonObject) -> tuple[str, JsonObject]:
        kind = self._kinds.require(obj["apiVersion"], obj["kind"], before=self._before)
        path = kind.path(obj["metadata"].get("namespace") or self._namespace, obj["metadata"]["name"])
        before = await self._current(path)
        after = await self._patched(path, obj)
        if before is None:
            return "created", after
        return "unchanged" if compared_fields(before) == compared_fields(after) else "configured", after

    async def _patched(self, path: str, obj: JsonObject) -> JsonObject:
        deadline = time.monotonic() + self._patience_s
        while True:
            try:
                return await self._client.request("PATCH", path, self._query, body=obj, content_type=APPLY_PATCH)
            except UnavailableError:
                if time.monotonic() >= deadline:
                    raise
            await asyncio.sleep(_RETRY_S)

    async def _current(self, path: str) -> JsonObject | None:
        try:
            return await self._client.get(path)
        except NotFoundError:
            return None

    def _refuse(self, obj: JsonObject, message: str) -> None:
        self.refusals.add(f"{self._naming(obj)}: {message}")

    async def wait_for_kinds(self, definitions: list[JsonObject]) -> None:
        """Wait until the definitions that the server accepted are established."""
        try:
            async with asyncio.timeout(_ESTABLISHED_WITHIN_S):
                await asyncio.gather(*(self._established(name_of(obj)) for obj in definitions))
        except TimeoutError as error:
            names = ", ".join(map(name_of, definitions))
            raise Failure(f"not established in time: {names}; see: homeostat describe crd NAME") from error
        self._kinds = await discover(self._client)

    async def _established(self, name: str) -> None:
        path = f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{name}"
        while (obj := await self._current(path)) is not None:
            conditions = (obj.get("status") or {}).get("conditions") or ()
            if any(each["type"] == "Established" and each["status"] == "True" for each in conditions):
                return
            await asyncio.sleep(_POLL_S)


def apply_query(*, dry_run: bool, force: bool) -> dict[str, str]:
    return {
        "fieldManager": MANAGER,
        "fieldValidation": "Strict",
        "force": "true" if force else "",
        "dryRun": "All" if dry_run else "",
    }


def compared_fields(obj: JsonObject) -> JsonObject:
    """The object without the metadata that differs although nothing was changed."""
    metadata = {key: value for key, value in obj["metadata"].items() if key not in _BOOKKEEPING}
    return {**obj, "metadata": metadata}


def is_field_conflict(error: ApiError) -> bool:
    return isinstance(error, ConflictError) and any(each.kind == "FieldManagerConflict" for each in error.causes)

"""`homeostat plan`: prints what applying files would change. It changes nothing."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Final

import click
from msgspec.structs import replace

from homeostat.cli.console.connection import Connection, connected
from homeostat.cli.console.failure import Failure
from homeostat.cli.console.output import is_table, output_option, print_object
from homeostat.cli.files.manifests import files_option, read_manifests
from homeostat.cli.plan.declared import as_stored, changes_between, schema_of_type
from homeostat.cli.plan.plugins import ask, plugins_of_this_machine, read_only
from homeostat.cli.plan.report import Change, Planned, print_plan, report_of
from homeostat.cli.plan.types import PlannedTypes, declared_type, planned_type
from homeostat.cli.resource.apply import sorted_manifests
from homeostat.cli.resource.kinds import title_of
from homeostat.cli.type.body import adopted
from homeostat.cli.type.stored import FoundType, list_types
from homeostat.client.base import Client
from homeostat.objects.errors import ApiError, NotFoundError
from homeostat.objects.json import JsonObject
from homeostat.objects.time.timestamp import format_time
from homeostat.operators.actions.dependencies import Dependencies
from homeostat.operators.actions.types.definition import InvalidTypeError
from homeostat.operators.actions.types.naming import resource_kind
from homeostat.operators.actions.types.passwords import password_fields

CHANGES: Final = 4
_AT_ONCE: Final = 4


@click.command(short_help="Print what applying resources would change; change nothing.")
@files_option(is_required=True)
@click.option("--force-conflicts", is_flag=True, help="Plan as if it took over fields that another manager has set.")
@click.option(
    "--allow-programs",
    is_flag=True,
    help="Also run plugins that run programs on this machine, as the types on the server name them.",
)
@click.option("--allow-vault", is_flag=True, help="Also pass secrets of the Vault at $VAULT_ADDR to plugins.")
@click.option("--detailed-exitcode", "is_detailed", is_flag=True, help=f"Exit with {CHANGES} if something may change.")
@output_option
@connected
async def command(
    connection: Connection,
    files: tuple[str, ...],
    force_conflicts: bool,
    allow_programs: bool,
    allow_vault: bool,
    is_detailed: bool,
    output: str,
) -> None:
    """Print what `homeostat resource apply` of the same files would do, and do nothing.

    Each resource is checked against its type's schema and compared with the existing one; then its plugin is asked
    on this machine, with the secrets of this machine, what it would change in the world. Whoever writes types on the
    server decides where these secrets go and which programs run, so programs need --allow-programs, and secrets of a
    Vault need --allow-vault.

    Exits with 0 when all could be planned, and with 1 where a resource would be refused or a plugin cannot plan. With
    --detailed-exitcode 0 means that nothing would change, and 4 that something would or might.

    \b
    Examples:
      homeostat plan -f orders.yaml
      homeostat plan -f resources/ --detailed-exitcode
      homeostat plan -f orders.yaml --allow-programs -o json
    """
    # Plugins report in the plan; their logs are for the operator.
    logging.getLogger("homeostat").addHandler(logging.NullHandler())
    types, resources = sorted_manifests(read_manifests(files, adopt=adopted))
    with read_only(connection.client) as client:
        there = await list_types(client)
        known = PlannedTypes([each.type for each in there], map(declared_type, types))
        planner = _Planner(client, connection.namespace, known, force=force_conflicts)
        async with plugins_of_this_machine(
            client, allows_programs=allow_programs, allows_vault=allow_vault
        ) as dependencies:
            planned = [await planner.plan_type(each, there) for each in types]
            planned += await planner.plan(resources, dependencies)
    if output == "name":
        click.echo("".join(f"{each.title}\n" for each in planned), nl=False)
    elif not is_table(output):
        print_object(report_of(planned), output)
    else:
        print_plan(planned)
    if any(each.error for each in planned):
        raise click.exceptions.Exit(1)
    if is_detailed and any(each.may_change for each in planned):
        raise click.exceptions.Exit(CHANGES)


class _Planner:
    def __init__(self, client: Client, namespace: str, types: PlannedTypes, *, force: bool) -> None:
        self._client, self._namespace, self._types, self._is_forced = client, namespace, types, force
        self._turns = asyncio.Semaphore(_AT_ONCE)

    async def plan_type(self, manifest: JsonObject, there: Sequence[FoundType]) -> Planned:
        try:
            live, _ = await self._client.list(resource_kind(declared_type(manifest).spec).path(""))
        except NotFoundError:
            live = []
        return planned_type(manifest, there, live)

    async def plan(self, manifests: Sequence[JsonObject], dependencies: Dependencies) -> list[Planned]:
        return await asyncio.gather(*(self._plan(each, dependencies) for each in manifests))

    async def _plan(self, manifest: JsonObject, dependencies: Dependencies) -> Planned:
        title = title_of(manifest)
        namespace = manifest["metadata"].get("namespace") or self._namespace
        async with self._turns:
            try:
                return await self._planned(Planned(title, namespace), manifest, dependencies)
            except ApiError as error:
                return Planned(title, namespace, "refused", error=error.message)
            except (Failure, InvalidTypeError) as error:
                return Planned(title, namespace, "refused", error=str(error))

    async def _planned(self, planned: Planned, manifest: JsonObject, dependencies: Dependencies) -> Planned:
        spec = self._types.of(manifest)
        schema = schema_of_type(spec)
        live = await self._live(resource_kind(spec).path(planned.namespace, manifest["metadata"]["name"]))
        if live is not None and live["metadata"].get("deletionTimestamp"):
            raise Failure("it is being deleted; plan again when it is gone")
        stored = as_stored(live, manifest, schema, now=format_time(datetime.now(UTC)), force=self._is_forced)
        fields = tuple(changes_between(live, stored, manifest, password_fields(spec.schema)))
        change: Change = "create" if live is None else "update" if fields else "unchanged"
        if change == "update":
            stored["metadata"]["generation"] += 1
        answer = await ask(dependencies, self._types.kept_by(stored), stored, planned.namespace)
        return replace(planned, change=change, fields=fields, answer=answer, error=answer.error)

    async def _live(self, path: str) -> JsonObject | None:
        try:
            return await self._client.get(path)
        except NotFoundError:
            # The resource does not exist, or the files declare its type too.
            return None

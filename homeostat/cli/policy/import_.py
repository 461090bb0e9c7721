"""`homeostat policy import`: applies the policies of files to a cluster and skips other objects."""

from __future__ import annotations

from collections.abc import Sequence

import click

from homeostat.cli.console.connection import Connection, connected
from homeostat.cli.console.failure import Failure
from homeostat.cli.console.output import title
from homeostat.cli.policy.files.policies import policy_manifests
from homeostat.cli.policy.stored import get_policy, no_kind, path_of, with_namespace
from homeostat.client.base import APPLY_PATCH
from homeostat.objects.errors import ApiError, ConflictError, NotFoundError
from homeostat.objects.json import JsonObject
from homeostat.objects.kind import NAMESPACE
from homeostat.operators.policy.document import PolicyDocumentError, read_policy

_MANAGER = "kube-devops-cli"


@click.command(short_help="Apply policies of files to a cluster.")
@click.argument("files", nargs=-1, required=True, metavar="FILE|-...")
@click.option("--dry-run", is_flag=True, help="Let the server check everything and store nothing.")
@click.option("--force-conflicts", is_flag=True, help="Take over fields that another manager has set.")
@connected
async def command(connection: Connection, files: tuple[str, ...], dry_run: bool, force_conflicts: bool) -> None:
    """Apply the policies of files, by server-side apply. It skips other objects in them.

    It reports an invalid policy with its file, line and path before it sends anything.

    \b
    Examples:
      homeostat policy import policies.yaml
      homeostat policy import production.yaml --context staging --dry-run
    """
    policies = _read(files, connection.namespace)
    query = {
        "fieldManager": _MANAGER,
        "fieldValidation": "Strict",
        "force": "true" if force_conflicts else "",
        "dryRun": "All" if dry_run else "",
    }
    failed = 0
    for policy in policies:
        try:
            outcome = await _apply(connection, policy, query)
        except ApiError as error:
            # A missing namespace is NotFound too, and concerns only this policy.
            if isinstance(error, NotFoundError) and error.kind != NAMESPACE.plural:
                raise no_kind() from error
            failed += 1
            hint = "; to take these fields over use --force-conflicts" if isinstance(error, ConflictError) else ""
            Failure(f"{title(policy)}: {error.message}{hint}").show()
        else:
            click.echo(f"{title(policy)} {outcome}{' (dry run)' if dry_run else ''}")
    if failed:
        raise click.exceptions.Exit(1)


def _read(files: Sequence[str], namespace: str) -> list[JsonObject]:
    found, faults = [], []
    for path in files:
        for line, policy in policy_manifests(path):
            try:
                read_policy(policy)
            except PolicyDocumentError as error:
                faults.append(f"{path}:{line}: {error}")
            else:
                found.append(with_namespace(policy, namespace))
    if faults:
        raise Failure("; ".join(faults))
    return found


async def _apply(connection: Connection, policy: JsonObject, query: dict[str, str]) -> str:
    before = await get_policy(connection.client, policy)
    sent = {key: value for key, value in policy.items() if key != "status"}
    after = await connection.client.request("PATCH", path_of(policy), query, body=sent, content_type=APPLY_PATCH)
    if before is None:
        return "created"
    return "unchanged" if before.get("spec") == after.get("spec") else "configured"

"""`homeostat auth who-can`: who may do something, and by which binding."""

from __future__ import annotations

from typing import Final

import click
import msgspec

from homeostat.cli.auth.resource import resource_of
from homeostat.cli.auth.verbs import warn_of_typos
from homeostat.cli.console.connection import Connection, connected
from homeostat.cli.console.selection import all_namespaces_option
from homeostat.cli.console.table import Table
from homeostat.cli.objects.kinds import discover
from homeostat.client.who_can import who_can
from homeostat.objects.access.who_can import Grant, Wanted
from homeostat.objects.json import JsonObject, encode

_FORMS: Final = ("table", "json")


@click.command("who-can", short_help="List who may do something, and by which binding.")
@click.argument("verb")
@click.argument("resource")
@click.argument("name", default="")
@click.option("-o", "--output", type=click.Choice(_FORMS), default="table", show_default=True, help="How to print.")
@all_namespaces_option
@connected
async def command(
    connection: Connection, verb: str, resource: str, name: str, output: str, all_namespaces: bool
) -> None:
    """List the users, groups and service accounts that may do something, and the bindings that allow it.

    VERB is get, list, watch, create, update, patch, delete or *. RESOURCE is a kind, a kind with a subresource
    (pods/log), a path of the server (/metrics), or what only roles name (users, groups, signers). -A lists those of any
    namespace, with the namespace. This needs the permission to list roles and bindings. Only RBAC is evaluated; other
    authorizers may allow more.

    \b
    Examples:
      homeostat auth who-can delete deploy -n shop
      homeostat auth who-can get secrets -A
      homeostat auth who-can impersonate users
      homeostat auth who-can get cm settings -n shop -o json
      homeostat auth who-can get /metrics
    """
    asked = resource_of(await discover(connection.client), resource)
    warn_of_typos([verb])
    namespace = "" if all_namespaces or not asked.is_namespaced else connection.namespace
    wanted = Wanted(
        verb, asked.group, asked.plural, asked.subresource, namespace, name, asked.path, asked.is_namespaced
    )
    answer = await who_can(connection.client, wanted)
    if output == "json":
        click.echo(msgspec.json.format(encode(list(map(_object, answer.grants)))))
    else:
        Table(("SUBJECT", "KIND", "NAMESPACE", "BINDING", "ROLE", "ONLY")).print(map(_row, answer.grants))
    if answer.unread:
        click.echo(f"incomplete: you may not list {', '.join(answer.unread)}", err=True)


def _row(grant: Grant) -> tuple[str, ...]:
    subject = grant.subject
    by = (grant.binding, grant.role_title) if grant.binding else ("", "needs no role")
    return subject.title, subject.kind, grant.namespace or "all", *by, ", ".join(grant.names)


def _object(grant: Grant) -> JsonObject:
    """Without what is empty."""
    found: JsonObject = {"subject": msgspec.to_builtins(grant.subject), "namespace": grant.namespace}
    if grant.binding:
        found["binding"] = {"kind": grant.binding_kind, "name": grant.binding}
        found["role"] = {"kind": grant.role_kind, "name": grant.role}
    return found | ({"resourceNames": list(grant.names)} if grant.names else {})

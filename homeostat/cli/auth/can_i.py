"""`homeostat auth can-i`: asks the server whether somebody may do something, and why."""

from __future__ import annotations

import sys
from typing import Final

import click

from homeostat.cli.auth.caller import Caller, find_caller
from homeostat.cli.auth.resource import resource_of
from homeostat.cli.auth.verbs import warn_of_typos
from homeostat.cli.console.connection import Connection, connected
from homeostat.cli.console.selection import all_namespaces_option
from homeostat.cli.objects.kinds import discover
from homeostat.objects.json import JsonObject
from homeostat.objects.roles import implied_groups
from homeostat.server.access.user import MASTERS

_REVIEWS: Final = "/apis/authorization.k8s.io/v1"


@click.command("can-i", short_help="Check whether you, or a user, may do something.")
@click.argument("verb")
@click.argument("resource")
@click.argument("name", default="")
@click.option("--as", "user", default="", metavar="USER", help="Ask for this user instead of yourself.")
@click.option("--as-group", "groups", multiple=True, metavar="GROUP", help="A group of that user; repeatable.")
@click.option("-q", "--quiet", is_flag=True, help="Print nothing; the exit code answers.")
@all_namespaces_option
@connected
async def command(
    connection: Connection,
    verb: str,
    resource: str,
    name: str,
    user: str,
    groups: tuple[str, ...],
    quiet: bool,
    all_namespaces: bool,
) -> None:
    """Check whether you may do something: print yes or no with the reason, and exit with 0 or 1.

    VERB is get, list, watch, create, update, patch, delete or *. RESOURCE is a kind, a kind with a subresource
    (pods/log), or a path of the server (/metrics). To ask for somebody else needs the permission to create
    SubjectAccessReviews.

    \b
    Examples:
      homeostat auth can-i list pods -n shop
      homeostat auth can-i patch deploy web -n shop --as anna --as-group dev
      homeostat auth can-i get secrets -A --as system:serviceaccount:shop:web
      homeostat auth can-i get /metrics
    """
    asked = resource_of(await discover(connection.client), resource)
    spec: JsonObject = asked.attributes(verb, "" if all_namespaces else connection.namespace, name)
    kind = "SelfSubjectAccessReview"
    if user or groups:
        kind = "SubjectAccessReview"
        spec |= {"user": user, "groups": list(dict.fromkeys([*groups, *implied_groups(user)]))}
    review = {"apiVersion": "authorization.k8s.io/v1", "kind": kind, "spec": spec}
    status = (await connection.client.create(f"{_REVIEWS}/{kind.lower()}s", review))["status"]
    is_allowed = status.get("allowed") is True
    if not quiet:
        warn_of_typos([verb])
        reason = status.get("reason") or status.get("evaluationError")
        if not reason:
            who = Caller(user, tuple(spec["groups"])) if user or groups else await find_caller(connection.client)
            where = ("-A",) if all_namespaces else ("-n", connection.namespace) if asked.is_namespaced else ()
            wanted = (verb, resource, *((name,) if name else ()))
            reason = _why_allowed(who) if is_allowed else _why_denied(who, wanted, where)
        click.echo(f"{'yes' if is_allowed else 'no'}{f' - {reason}' if reason else ''}")
    if not is_allowed:
        sys.exit(1)


def _why_allowed(who: Caller | None) -> str:
    """Administrators need no role, so RBAC names none."""
    return f"members of {MASTERS} may do everything" if who is not None and MASTERS in who.groups else ""


def _why_denied(who: Caller | None, wanted: tuple[str, ...], where: tuple[str, ...]) -> str:
    """RBAC has no reason for a denial: nothing denies, and no role allows."""
    if who is None:
        return "no role allows it"
    return f"no role of {who.title} allows it; allow it with: {who.grant(wanted, where)}"

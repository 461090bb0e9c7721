"""`homeostat auth grant`: a role with one rule, and its binding to one subject."""

from __future__ import annotations

import re
from hashlib import blake2b
from typing import Final

import click

from homeostat.cli.auth.resource import Resource, resource_of
from homeostat.cli.auth.verbs import warn_of_typos
from homeostat.cli.console.connection import Connection, connected
from homeostat.cli.console.failure import print_warning
from homeostat.cli.console.selection import all_namespaces_option
from homeostat.cli.objects.apply import Applying
from homeostat.cli.objects.kinds import discover
from homeostat.objects.errors import ApiError, NotFoundError
from homeostat.objects.json import JsonObject, encode
from homeostat.objects.roles import role

_API: Final = "rbac.authorization.k8s.io"
_LONGEST_NAME: Final = 60
_NAMELESS: Final = frozenset({"create", "deletecollection"})
"""Requests with these verbs name no object, so a rule for one of a name never allows them."""
_unnamed = re.compile(r"[^a-z0-9]+").sub


@click.command(short_help="Allow a user, a group or a service account to do something.")
@click.argument("verbs", metavar="VERB[,VERB...]")
@click.argument("resource")
@click.argument("name", default="")
@click.option("--user", default="", help="The user to allow it to.")
@click.option("--group", default="", help="The group to allow it to.")
@click.option("--serviceaccount", "account", default="", metavar="NS:NAME", help="The service account to allow it to.")
@click.option("--dry-run", is_flag=True, help="Let the server check the objects without storing them.")
@all_namespaces_option
@connected
async def command(
    connection: Connection,
    verbs: str,
    resource: str,
    name: str,
    user: str,
    group: str,
    account: str,
    dry_run: bool,
    all_namespaces: bool,
) -> None:
    """Allow exactly this: create a Role and a RoleBinding, or with -A a ClusterRole and a ClusterRoleBinding.

    The command can be repeated: it changes nothing the second time. To revoke the permission, delete the binding
    that it prints.

    \b
    Examples:
      homeostat auth grant list pods --user anna -n shop
      homeostat auth grant get,patch deploy web --serviceaccount ci:deployer -n shop
      homeostat auth grant get,list,watch nodes --group ops -A
    """
    subject, allowed = _subject(user, group, account), _verbs(verbs)
    kinds = await discover(connection.client)
    asked = resource_of(kinds, resource)
    _check_name(asked, allowed, name)
    warn_of_typos(allowed)
    is_wide = all_namespaces or not asked.is_namespaced
    where: JsonObject = {"name": _name(subject, verbs, asked.title, name)}
    if not is_wide:
        where["namespace"] = connection.namespace
    kind = "ClusterRole" if is_wide else "Role"
    run = Applying(connection, kinds, dry_run=dry_run)
    # A role of that name that is not ours, with rules of its own, must not be bound.
    if await run.apply(role(where, [_rule(asked, allowed, name)])) is not None:
        binding = {"roleRef": {"apiGroup": _API, "kind": kind, "name": where["name"]}, "subjects": [subject]}
        await run.apply({"apiVersion": f"{_API}/v1", "kind": f"{kind}Binding", "metadata": where, **binding})
    run.refusals.exit_if_any()
    if account and not await _exists(connection, subject):
        print_warning(f"there is no service account {account}; if the name is right, create it")


async def _exists(connection: Connection, subject: JsonObject) -> bool:
    """Whether the service account exists. It may be created later, so an absent one gets a warning and no error."""
    path = f"/api/v1/namespaces/{subject['namespace']}/serviceaccounts/{subject['name']}"
    try:
        await connection.client.get(path)
    except NotFoundError:
        return False
    except ApiError:
        return True  # unknown to who may grant and not read
    return True


def _rule(asked: Resource, verbs: list[str], name: str) -> JsonObject:
    """The one rule."""
    if asked.path:
        return {"verbs": verbs, "nonResourceURLs": [asked.path]}
    rule: JsonObject = {"verbs": verbs, "apiGroups": [asked.group], "resources": [asked.in_role]}
    return rule | ({"resourceNames": [name]} if name else {})


def _verbs(text: str) -> list[str]:
    found = text.split(",")
    if not all(found):
        raise click.UsageError(f'"{text}" has an empty verb; expected VERB[,VERB...]')
    return found


def _check_name(asked: Resource, verbs: list[str], name: str) -> None:
    if name and asked.path:
        raise click.UsageError(f"{asked.path} is a path and has no objects; leave out {name}")
    if name and (nameless := _NAMELESS.intersection(verbs)):
        raise click.UsageError(f"{min(nameless)} cannot be limited to one object; leave out {name}")


def _subject(user: str, group: str, account: str) -> JsonObject:
    if sum(map(bool, (user, group, account))) != 1:
        raise click.UsageError("pass one of --user, --group and --serviceaccount")
    if not account:
        return {"apiGroup": _API, "kind": "User" if user else "Group", "name": user or group}
    namespace, _, name = account.partition(":")
    if not namespace or not name:
        raise click.UsageError(f'"{account}" is not a service account; expected NAMESPACE:NAME')
    return {"kind": "ServiceAccount", "namespace": namespace, "name": name}


def _name(subject: JsonObject, *words: str) -> str:
    """Of the role and the binding: `anna-list-pods-1f0c5a2e`. Without the digest, a grant could replace another one:
    user and group `anna`, accounts of two namespaces, `pods/log` and the Pod `log` are the same words.
    """
    text = _unnamed("-", "-".join((subject["name"], *words)).lower()).strip("-")[:_LONGEST_NAME].strip("-")
    exact = encode([subject["kind"], subject.get("namespace", ""), subject["name"], *words])
    return f"{text}-{blake2b(exact, digest_size=4).hexdigest()}".lstrip("-")

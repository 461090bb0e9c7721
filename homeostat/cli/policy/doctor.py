"""`homeostat policy doctor`: checks the connection to a cluster, the definitions, the permissions and the webhook.

Exit codes: 0 all checks passed, 1 a check failed, 3 the server did not answer.
"""

from __future__ import annotations

import asyncio
from base64 import b64decode
from collections.abc import AsyncIterator, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

import click

from homeostat.cli.console.connection import Connection, connected
from homeostat.cli.console.table import Table
from homeostat.cli.policy.stored import INSTALL
from homeostat.objects.errors import ApiError, ForbiddenError
from homeostat.objects.roles import LEASE_RULES
from homeostat.operators.policy.access import operator_rules, webhook_rules
from homeostat.operators.policy.api import GROUP, KINDS

if TYPE_CHECKING:
    from homeostat.client.base import Client
    from homeostat.objects.json import JsonObject

_REVIEWS: Final = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
_HOOKS: Final = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"
_HOOK: Final = f"validate.{GROUP}"
_MOST_NAMES: Final = 5
_AT_ONCE: Final = 8

Result = Literal["OK", "FAIL", "SKIPPED"]


class Finding(NamedTuple):
    check: str
    result: Result
    detail: str


class _Permission(NamedTuple):
    group: str
    resource: str
    verb: str
    namespace: str = ""

    def __str__(self) -> str:
        full = f"{self.resource}.{self.group}" if self.group else self.resource
        return f"{self.verb} {full}{f' in namespace {self.namespace}' if self.namespace else ''}"


@click.command(short_help="Check the connection and the permissions.")
@click.option("--read-only", is_flag=True, help="Without the permission to change workloads: no enforcement.")
@connected
async def command(connection: Connection, read_only: bool) -> None:
    """Check everything that the operator and its webhook need from a cluster, without changing anything.

    The permissions are those of the kubeconfig. Leases for leader election are checked in --namespace. A cluster
    without the webhook is fine; then Pods are not checked at admission.

    \b
    Exit codes:
      0  all checks passed
      1  a check failed
      3  the server did not answer

    \b
    Examples:
      homeostat policy doctor
      homeostat policy doctor --context staging --namespace kube-devops
    """
    found = [each async for each in _examine(connection, can_enforce=not read_only)]
    Table(("CHECK", "RESULT", "DETAIL")).print(found)
    if any(each.result == "FAIL" for each in found):
        raise click.exceptions.Exit(1)


async def _examine(connection: Connection, *, can_enforce: bool) -> AsyncIterator[Finding]:
    client = connection.client
    version = await client.request("GET", "/version")
    yield Finding("connection", "OK", f"Kubernetes {version.get('gitVersion', 'of unknown version')}")
    yield await _definitions(client)
    election = [_Permission(*each[:3], connection.namespace) for each in _permissions(LEASE_RULES)]
    operator = _permissions(operator_rules(can_enforce=can_enforce))
    yield await _allowed(client, "permissions of the operator", operator)
    yield await _allowed(client, "permissions for leader election", election)
    yield await _allowed(client, "permissions of the webhook", _permissions(webhook_rules()))
    for each in await _webhooks(client):
        yield each


async def _definitions(client: Client) -> Finding:
    from homeostat.client.discovery import fetch_kinds

    served = {each.full_name for each in await fetch_kinds(client)}
    missing = [each.kind.plural for each in KINDS if each.kind.full_name not in served]
    if missing:
        return Finding("definitions", "FAIL", f"not installed: {', '.join(missing)}; {INSTALL}")
    return Finding("definitions", "OK", ", ".join(each.kind.plural for each in KINDS))


def _permissions(rules: Sequence[JsonObject]) -> list[_Permission]:
    found = [
        _Permission(_group(each, resource), resource, verb)
        for each in rules
        for resource in each["resources"]
        for verb in each["verbs"]
    ]
    return list(dict.fromkeys(found))


def _group(rule: JsonObject, resource: str) -> str:
    """A rule may have several groups; each of its resources is in one of them."""
    groups: list[str] = rule["apiGroups"]
    homes = {"replicasets": "apps", "poddisruptionbudgets": "policy"}
    return groups[0] if len(groups) == 1 else homes.get(resource, "")


async def _allowed(client: Client, check: str, permissions: Sequence[_Permission]) -> Finding:
    slots = asyncio.Semaphore(_AT_ONCE)

    async def is_allowed(permission: _Permission) -> bool:
        resource, _, subresource = permission.resource.partition("/")
        attributes = {
            "group": permission.group,
            "resource": resource,
            "subresource": subresource,
            "verb": permission.verb,
            "namespace": permission.namespace,
        }
        async with slots:
            answer = await client.create(_REVIEWS, {"spec": {"resourceAttributes": attributes}})
        return bool(answer["status"]["allowed"])

    try:
        answers = await asyncio.gather(*map(is_allowed, permissions))
    except ApiError as error:
        return Finding(check, "FAIL", f"cannot check: {error.message}")
    missing = [str(each) for each, is_granted in zip(permissions, answers, strict=True) if not is_granted]
    if not missing:
        return Finding(check, "OK", f"{len(permissions)} permissions")
    more = f" and {len(missing) - _MOST_NAMES} more" if len(missing) > _MOST_NAMES else ""
    hint = "see homeostat policy deploy rbac"
    return Finding(check, "FAIL", f"not allowed to {', '.join(missing[:_MOST_NAMES])}{more}; {hint}")


async def _webhooks(client: Client) -> list[Finding]:
    try:
        configurations, _ = await client.list(_HOOKS)
    except ForbiddenError:
        return [Finding("webhook", "SKIPPED", "not allowed to list ValidatingWebhookConfigurations")]
    found = [
        _webhook(each["metadata"]["name"], hook)
        for each in configurations
        for hook in each.get("webhooks") or ()
        if hook["name"] == _HOOK
    ]
    text = "not installed: Pods are not checked at admission; see homeostat policy webhook --help"
    return found or [Finding("webhook", "SKIPPED", text)]


def _webhook(name: str, hook: JsonObject) -> Finding:
    from homeostat.web.admission.certificates import RenewalError, validity_of

    check, failure = f"webhook {name}", hook.get("failurePolicy", "Fail")
    try:
        _, end = validity_of(b64decode(hook["clientConfig"].get("caBundle") or ""))
    except (RenewalError, ValueError):
        return Finding(check, "FAIL", "its caBundle is not a certificate; see homeostat policy webhook install-config")
    if end <= datetime.now(UTC):
        return Finding(check, "FAIL", f"its authority expired at {end:%Y-%m-%d}; API servers skip it ({failure})")
    return Finding(check, "OK", f"failurePolicy {failure}, authority valid until {end:%Y-%m-%d}")

"""Checks of `homeostat run` before it starts operators, for mistakes that would look like having nothing to do."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from homeostat.cli.console.failure import Failure, print_warning

if TYPE_CHECKING:
    from homeostat.client.base import Client
    from homeostat.objects.json import JsonObject
    from homeostat.runtime.description import Description


async def check_kinds(client: Client, operators: Mapping[str, Description], *, named: str) -> None:
    """`Failure` if the server does not serve a kind of the operators; its watch would never begin. `named` is the value
    of `--operators`.
    """
    from homeostat.client.discovery import fetch_kinds

    served = {(each.group, each.version, each.plural) for each in await fetch_kinds(client)}
    for name, description in operators.items():
        missing = [each for each in map(_kind_of, description.definitions()) if each not in served]
        if missing:
            kinds = ", ".join(f"{plural}.{group}/{version}" for group, version, plural in missing)
            raise Failure(
                f"the server does not serve {kinds}, which {name} needs; "
                f"to install: homeostat crds --operators {named} | kubectl apply --server-side -f -"
            )


def _kind_of(definition: JsonObject) -> tuple[str, str, str]:
    """Group, version and plural."""
    spec = definition["spec"]
    return spec["group"], spec["versions"][0]["name"], spec["names"]["plural"]


async def warn_of_missing_namespace(client: Client, namespace: str) -> None:
    """It may be created later, but a misspelt one would look like a namespace without objects."""
    if namespace and not await _may_exist(client, namespace):
        print_warning(
            f'there is no namespace "{namespace}" (--namespace), so there is nothing to reconcile; '
            f"create it (kubectl create namespace {namespace}) or end this and name another"
        )


async def _may_exist(client: Client, namespace: str) -> bool:
    from homeostat.objects.errors import ForbiddenError, NotFoundError
    from homeostat.objects.kind import NAMESPACE

    try:
        await client.get(NAMESPACE.path("", namespace))
    except NotFoundError:
        return False
    except ForbiddenError:
        # An account of one namespace is often not allowed to read namespaces.
        return True
    return True


async def check_lease_namespace(client: Client, namespace: str) -> None:
    """`Failure` if the namespace does not exist: no process could ever become leader."""
    if namespace and not await _may_exist(client, namespace):
        raise Failure(
            f'there is no namespace "{namespace}" for the leases of --leader-elect; '
            f"create it (kubectl create namespace {namespace}) or choose another with --lease-namespace"
        )

"""Reads policies from a server."""

from __future__ import annotations

from typing import Final

from homeostat.cli.console.failure import Failure
from homeostat.cli.objects.kinds import with_type_meta
from homeostat.client.base import Client
from homeostat.objects.errors import NotFoundError
from homeostat.objects.json import JsonObject
from homeostat.objects.kind import Kind
from homeostat.operators.policy.api import CLUSTER_DEVOPS_POLICY, DEVOPS_POLICY

KINDS: Final[dict[str, Kind]] = {each.kind.kind: each.kind for each in (DEVOPS_POLICY, CLUSTER_DEVOPS_POLICY)}
INSTALL: Final = "to install them: homeostat crds --operators policy | kubectl apply --server-side -f -"


async def list_policies(client: Client, namespace: str) -> list[JsonObject]:
    """The DevOpsPolicies of a namespace; without a namespace all policies, ClusterDevOpsPolicies too."""
    kinds = [DEVOPS_POLICY.kind] if namespace else list(KINDS.values())
    return [each for kind in kinds for each in await _list(client, kind, namespace)]


async def _list(client: Client, kind: Kind, namespace: str) -> list[JsonObject]:
    try:
        found, _ = await client.list(kind.path(namespace))
    except NotFoundError as error:
        raise no_kind() from error
    return [with_type_meta(kind, each) for each in found]


def no_kind() -> Failure:
    return Failure(f"the server does not serve policies; {INSTALL}")


async def get_policy(client: Client, policy: JsonObject) -> JsonObject | None:
    """The policy on the server; None if there is none."""
    try:
        return await client.get(path_of(policy))
    except NotFoundError:
        return None


def path_of(policy: JsonObject) -> str:
    metadata = policy["metadata"]
    return KINDS[policy["kind"]].path(metadata.get("namespace") or "", metadata["name"])


def with_namespace(policy: JsonObject, namespace: str) -> JsonObject:
    """The policy with this namespace, unless it has one or is not namespaced."""
    metadata = policy.get("metadata")
    is_placed = not KINDS[policy["kind"]].is_namespaced or not isinstance(metadata, dict) or metadata.get("namespace")
    return policy if is_placed else {**policy, "metadata": {**(metadata or {}), "namespace": namespace}}

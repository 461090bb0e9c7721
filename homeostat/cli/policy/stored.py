"""The policies of a server: listed, and found by what a file says of them."""

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
    """Those of a namespace, or of the whole cluster and its own where none is named."""
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
    """As the server has it; None where it has not."""
    try:
        return await client.get(path_of(policy))
    except NotFoundError:
        return None


def path_of(policy: JsonObject) -> str:
    metadata = policy["metadata"]
    return KINDS[policy["kind"]].path(metadata.get("namespace") or "", metadata["name"])


def placed(policy: JsonObject, namespace: str) -> JsonObject:
    """In the namespace, unless it says another or has none."""
    metadata = policy.get("metadata")
    is_placed = not KINDS[policy["kind"]].is_namespaced or not isinstance(metadata, dict) or metadata.get("namespace")
    return policy if is_placed else {**policy, "metadata": {**(metadata or {}), "namespace": namespace}}

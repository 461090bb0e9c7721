"""Services and workloads of a live cluster, read one by one: no permission to list is needed."""

from __future__ import annotations

from typing import Final

from homeostat.cli.console.connection import Connection
from homeostat.objects.errors import NotFoundError
from homeostat.objects.kind import Kind
from homeostat.operators.contracts.engine.checks.selection import GROUPS, SERVICE, Candidate
from homeostat.operators.contracts.engine.document.contract import Contract

_PLURALS: Final = {
    SERVICE: "services",
    "Deployment": "deployments",
    "StatefulSet": "statefulsets",
    "ReplicaSet": "replicasets",
    "Job": "jobs",
    "CronJob": "cronjobs",
}
_KINDS: Final = {kind: Kind(GROUPS[kind], "v1", plural, kind, is_namespaced=True) for kind, plural in _PLURALS.items()}


async def fetch_candidates(
    connection: Connection, contract: Contract, *, service: str, workload: tuple[str, str] | None
) -> list[Candidate]:
    """The objects that are named, or else those with the name of the contract's service. Raises `ApiError`."""
    if workload is not None:
        wanted = [(workload[1], workload[0])]
    elif service:
        wanted = [("Deployment", service)]
    else:
        wanted = [(kind, contract.service.name) for kind in _KINDS if kind != SERVICE]
    if service or workload is None:
        wanted.append((SERVICE, service or contract.service.name))
    found = [await _fetch(connection, kind, name) for kind, name in wanted]
    return [each for each in found if each is not None]


async def _fetch(connection: Connection, kind: str, name: str) -> Candidate | None:
    try:
        value = await connection.client.get(_KINDS[kind].path(connection.namespace, name))
    except NotFoundError:
        return None
    return Candidate(kind, name, connection.namespace, value)

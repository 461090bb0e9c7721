"""Writes the status of a Pod."""

from __future__ import annotations

from homeostat.client.base import Client
from homeostat.objects.json import JsonObject
from homeostat.objects.kind import POD
from homeostat.operators.workloads.api import Pod
from homeostat.operators.workloads.pods.status import has_others


async def patch_status(client: Client, pod: Pod, status: JsonObject, *, is_shared: bool = False) -> None:
    """A patch of a Pod that others write to names the version that it is for."""
    patch: JsonObject = {"status": status}
    if is_shared or has_others(pod):
        patch["metadata"] = {"resourceVersion": pod.metadata.resource_version}
    await client.merge(POD.path(*pod.key, "status"), patch)

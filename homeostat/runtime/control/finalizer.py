"""The finalizer of an operator, which keeps a deleted object until the operator has cleaned up.

The finalizers of others are never removed, reordered or restored: the whole list is written, and only over the version
that it was read from. A `ConflictError` means that nothing was written and the object has to be reconciled again. So a
finalizer is removed only from the version that the decision was made for.
"""

from __future__ import annotations

from homeostat.client.projection import Projection
from homeostat.client.requests import PLAIN, Writing
from homeostat.objects.errors import NotFoundError
from homeostat.objects.json import JsonObject
from homeostat.runtime.control.status import Snapshot


def plan_addition(snapshot: Snapshot, finalizer: str) -> JsonObject | None:
    """None if the object has it, or is terminating: servers refuse new finalizers then."""
    current = snapshot.metadata.finalizers
    if finalizer in current or snapshot.metadata.deletion_timestamp is not None:
        return None
    return _patch(snapshot, [*current, finalizer])


def plan_removal(snapshot: Snapshot, finalizer: str) -> JsonObject | None:
    """None if the object does not have it."""
    current = snapshot.metadata.finalizers
    if finalizer not in current:
        return None
    return _patch(snapshot, [each for each in current if each != finalizer])


async def add_finalizer(
    objects: Projection[Snapshot], snapshot: Snapshot, finalizer: str, *, writing: Writing = PLAIN
) -> Snapshot:
    """Returns the new version. Add the finalizer before the first effect, or the effect may outlive the object."""
    return await _write(objects, snapshot, plan_addition(snapshot, finalizer), writing)


async def remove_finalizer(
    objects: Projection[Snapshot], snapshot: Snapshot, finalizer: str, *, writing: Writing = PLAIN
) -> Snapshot | None:
    """Returns None if the object is already deleted. The last finalizer of a terminating object deletes it."""
    try:
        return await _write(objects, snapshot, plan_removal(snapshot, finalizer), writing)
    except NotFoundError:
        return None


async def _write(
    objects: Projection[Snapshot], snapshot: Snapshot, patch: JsonObject | None, writing: Writing
) -> Snapshot:
    if patch is None:
        return snapshot
    return await objects.patch(patch, snapshot.metadata.name, snapshot.metadata.namespace, writing=writing)


def _patch(snapshot: Snapshot, finalizers: list[str]) -> JsonObject:
    version = snapshot.metadata.resource_version
    if not version:
        raise ValueError(f'"{snapshot.metadata.name}" has no resourceVersion; its finalizers cannot be changed safely')
    return {"metadata": {"resourceVersion": version, "finalizers": finalizers}}

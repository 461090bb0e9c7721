"""The finalizer of an operator: what keeps a deleted object until the operator has cleaned up after it.

The finalizers of others are neither removed nor reordered nor brought back: the list is written whole, and only over
the version that it was read from. A `ConflictError` means that nothing was written and that the object has to be
reconciled again; so a finalizer is never removed from a version that the decision was not made for.
"""

from __future__ import annotations

from homeostat.client.projection import Projection
from homeostat.client.requests import PLAIN, Writing
from homeostat.objects.errors import NotFoundError
from homeostat.objects.json import JsonObject
from homeostat.runtime.control.status import Snapshot


def plan_addition(snapshot: Snapshot, finalizer: str) -> JsonObject | None:
    """None where it is there, and where the object is terminating: servers refuse new finalizers then."""
    held = snapshot.metadata.finalizers
    if finalizer in held or snapshot.metadata.deletion_timestamp is not None:
        return None
    return _patch(snapshot, [*held, finalizer])


def plan_removal(snapshot: Snapshot, finalizer: str) -> JsonObject | None:
    """None where it is not there."""
    held = snapshot.metadata.finalizers
    if finalizer not in held:
        return None
    return _patch(snapshot, [each for each in held if each != finalizer])


async def add_finalizer(
    objects: Projection[Snapshot], snapshot: Snapshot, finalizer: str, *, writing: Writing = PLAIN
) -> Snapshot:
    """The object as it is then. Whoever acts on the world adds it first, or the effect may outlive the object."""
    return await _write(objects, snapshot, plan_addition(snapshot, finalizer), writing)


async def remove_finalizer(
    objects: Projection[Snapshot], snapshot: Snapshot, finalizer: str, *, writing: Writing = PLAIN
) -> Snapshot | None:
    """None where the object had gone before; with the last finalizer of a terminating one it goes now."""
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

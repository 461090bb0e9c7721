"""Compares a lock with what its references resolve to now, and keeps pins. Pure."""

from __future__ import annotations

from collections.abc import Collection

import msgspec

from homeostat.operators.contracts.engine.lock.lock import Lock, LockedDependency, LockedReference, LockError


def check_lock(existing: Lock, fresh: Lock) -> None:
    """Raise `LockError` at the first difference: an added or removed entry, or a different digest or content."""
    if len(existing.dependencies) != len(fresh.dependencies):
        raise _stale("the dependencies have changed")
    for entry in fresh.dependencies:
        known = existing.dependency(entry.name)
        if known is None:
            raise _stale(f"{entry.name} is a new dependency")
        _check_entry(entry.name, "dependency", known, entry)
    if len(existing.references) != len(fresh.references):
        raise _stale("the references have changed")
    references = {_identity(each): each for each in existing.references}
    for reference in fresh.references:
        name = f"{reference.kind}/{reference.name}"
        found = references.get(_identity(reference))
        if found is None:
            raise _stale(f"{name} is a new reference")
        _check_entry(name, "reference", found, reference)


def keep_pins(existing: Lock, fresh: Lock, update: Collection[str] = ()) -> Lock:
    """Return `fresh` with the existing pins of dependencies whose constraint is unchanged, except those to update.

    A changed local dependency keeps its old hash, too; only an update accepts the change.
    """
    return msgspec.structs.replace(
        fresh, dependencies=tuple(_kept(existing, each, update) for each in fresh.dependencies)
    )


def _kept(existing: Lock, entry: LockedDependency, update: Collection[str]) -> LockedDependency:
    known = existing.dependency(entry.name)
    if known is None or entry.name in update or known.constraint != entry.constraint:
        return entry
    return msgspec.structs.replace(entry, version=known.version, digest=known.digest, content_hash=known.content_hash)


def _check_entry(
    name: str, kind: str, existing: LockedDependency | LockedReference, fresh: LockedDependency | LockedReference
) -> None:
    if fresh.source == "local":
        if existing.content_hash != fresh.content_hash:
            problem = f"local {kind} {name} content changed since lock; run `lock --update` to accept it"
            raise LockError("LOCK_LOCAL_DRIFT", problem)
    elif existing.digest != fresh.digest:
        problem = f"{name} locked at {existing.digest} but resolves to {fresh.digest}; run `lock --update` to re-pin"
        raise LockError("LOCK_DIGEST_MISMATCH", problem)


def _identity(reference: LockedReference) -> tuple[str, str]:
    return (reference.source, reference.path if reference.source == "local" else reference.ref)


def _stale(problem: str) -> LockError:
    return LockError("LOCK_STALE", f"{problem}; run `lock` to record them")

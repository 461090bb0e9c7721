"""Which resources a command means: those of the repository at a path, or of the server."""

from __future__ import annotations

from homeostat.operators.sync.engine.errors import NotFoundError
from homeostat.operators.sync.engine.paths.logical import Target, segments
from homeostat.operators.sync.engine.tree.listing import children, has_payload, resources
from homeostat.operators.sync.session.desired import find_local
from homeostat.operators.sync.session.session import Session


def local_paths(session: Session, target: Target, *, is_recursive: bool) -> list[str]:
    """The resource, or those of the collection; `NotFoundError` if there are none."""
    found = listed(session, target, is_recursive=is_recursive)
    if not found and not target.is_collection and (other := find_local(session, target.path)) is not None:
        found = [other]
    if not found:
        raise NotFoundError(f"no local resources found under {target.path}")
    return found


def listed(session: Session, target: Target, *, is_recursive: bool) -> list[str]:
    if target.is_collection and not is_recursive:
        return children(session.root, target.path)
    return resources(session.root, target.path, is_recursive=is_recursive)


def is_local_collection(session: Session, path: str) -> bool:
    """Whether the repository has a directory with resources or metadata here, and no payload."""
    directory = session.root.at(segments(path))
    return directory is not None and not has_payload(directory) and bool(directory.directories)


def excluded(text: str | None) -> set[str]:
    return {each.strip() for each in (text or "").split(",") if each.strip()}

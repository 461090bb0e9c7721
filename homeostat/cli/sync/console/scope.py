"""Which resources a command means: those of the repository at a path, or of the server."""

from __future__ import annotations

from homeostat.operators.sync.engine.errors import NotFoundError, ValidationError
from homeostat.operators.sync.engine.lists.items import Item, identity_of
from homeostat.operators.sync.engine.paths.logical import ROOT, Target, join, name, parent, segments
from homeostat.operators.sync.engine.payload.codec import Payload
from homeostat.operators.sync.engine.tree.listing import children, has_payload, resources
from homeostat.operators.sync.session.desired import find_local
from homeostat.operators.sync.session.remote import find, list_items
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


def is_known_collection(session: Session, path: str) -> bool:
    """Whether the OpenAPI document says so, or the repository has resources or metadata here, and no payload."""
    if session.openapi is not None and session.openapi.is_collection(path):
        return True
    directory = session.root.at(segments(path))
    return directory is not None and not has_payload(directory) and bool(directory.directories)


async def collection_items(session: Session, path: str, *, method: str = "") -> list[Item]:
    """The objects of a collection on the server; none if it is a known collection that the server lacks so far."""
    try:
        return await list_items(session, path, method=method)
    except NotFoundError:
        if not is_known_collection(session, path):
            raise
        if parent(path) != ROOT:
            await find(session, parent(path))
        return []


def given_path(session: Session, target: Target, payload: Payload) -> str:
    """The resource that a given payload is for: in a collection by its own name, else it must agree with the path."""
    if not isinstance(payload.value, dict):
        return target.path
    where = target.path if target.is_collection else parent(target.path)
    alias, identity = identity_of(
        session.metadata.rules(target.path, is_collection=target.is_collection), payload.value
    )
    if target.is_collection:
        if not alias:
            raise ValidationError(f"{target.path} is a collection, and the payload has no name for the resource")
        return join(where, alias)
    if alias and name(target.path) not in (alias, identity):
        raise ValidationError(f'{target.path}: the payload is called "{alias}"; expected "{name(target.path)}"')
    return target.path


def chosen_paths(session: Session, target: Target, given: Payload | None, *, is_recursive: bool) -> list[str]:
    """The resource of a given payload, else those of the repository."""
    if given is not None:
        return [given_path(session, target, given)]
    return local_paths(session, target, is_recursive=is_recursive)


def excluded(text: str | None) -> set[str]:
    return {each.strip() for each in (text or "").split(",") if each.strip()}

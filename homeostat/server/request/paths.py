"""Parses the URL paths of the Kubernetes API. Pure.

    /api/v1/namespaces/{ns}/pods/{name}/status      group "", version v1
    /apis/{group}/{version}/{plural}[/{name}[/{subresource}]]
    /api/v1/watch/namespaces/{ns}/pods[/{name}]     a watch, as clients asked for it before `?watch=true`

Any other path (`/version`, `/openapi/v3`, `/apis` itself) is not an object's and parses to None.
"""

from __future__ import annotations

from typing import NamedTuple
from urllib.parse import unquote

from homeostat.objects.errors import BadRequestError


class ObjectPath(NamedTuple):
    group: str
    version: str
    plural: str
    namespace: str = ""
    name: str = ""
    subresource: str = ""
    is_watch: bool = False


_WATCH = "watch"
_NAMESPACE_SUBRESOURCES = frozenset({"status", "finalize"})
_MAX_SEGMENTS = 9
_MOST_COLLECTIONS = 1_000
_LONGEST_COLLECTION = 300
_collections: dict[str, ObjectPath] = {}
"""The paths of collections that were parsed: most requests are for one of these or for an object in it."""


def parse_path(path: str) -> ObjectPath | None:
    """The object path of a URL, None for any other path; `BadRequestError` for an invalid segment."""
    known = _collections.get(path)
    if known is not None:
        return known
    above, _, name = path.rpartition("/")
    known = _collections.get(above)
    if known is not None and name and name[0] != "." and "%" not in name:
        return ObjectPath(known[0], known[1], known[2], known[3], name)
    collection, _, owner = above.rpartition("/")
    known = _collections.get(collection)
    # Below a Namespace there are its subresources, and the collections in it.
    if known is not None and known[2] != "namespaces" and name and owner and "%" not in path and "/." not in path:
        return ObjectPath(known[0], known[1], known[2], known[3], owner, name)
    parsed = _parse(path)
    if parsed is None or parsed.is_watch or (parsed.plural == _WATCH and not parsed.namespace):
        return parsed
    if not parsed.subresource and name and "%" not in path and "/." not in path:
        _remember(above if parsed.name else path, parsed)
    return parsed


def _remember(collection: str, parsed: ObjectPath) -> None:
    if len(collection) <= _LONGEST_COLLECTION and parsed.plural not in _NAMESPACE_SUBRESOURCES:
        if len(_collections) >= _MOST_COLLECTIONS:
            _collections.clear()
        _collections[collection] = parsed._replace(name="")


def _parse(path: str) -> ObjectPath | None:
    parts = path.strip("/").split("/")
    if "%" in path or "/." in path:
        parts = [_decoded(part) for part in parts]
    count = len(parts)
    if parts[0] == "apis" and count > 3:
        group, version, at = parts[1], parts[2], 3
    elif parts[0] == "api" and count > 2:
        group, version, at = "", parts[1], 2
    else:
        return None
    if count - at > _MAX_SEGMENTS or ("" in parts and "" in parts[at:]):
        return None
    is_watch = parts[at] == _WATCH and count - at > 1
    at += is_watch
    namespace = ""
    if parts[at] == "namespaces" and count - at > 2 and not _is_of_namespace(parts, at):
        namespace = parts[at + 1]
        at += 2
    if count - at == 2:
        return ObjectPath(group, version, parts[at], namespace, parts[at + 1], is_watch=is_watch)
    if count - at == 1:
        return ObjectPath(group, version, parts[at], namespace, is_watch=is_watch)
    if is_watch:
        return None  # Subresources cannot be watched.
    return ObjectPath(group, version, parts[at], namespace, parts[at + 1], "/".join(parts[at + 2 :]))


def _is_of_namespace(parts: list[str], at: int) -> bool:
    """Whether the path is that of a subresource of a Namespace, and not of a collection in it."""
    return len(parts) - at == 3 and parts[at + 2] in _NAMESPACE_SUBRESOURCES


def _decoded(part: str) -> str:
    try:
        text = unquote(part, errors="strict") if part.isascii() else part
    except UnicodeDecodeError as error:
        raise BadRequestError(f"the path segment {part!r} is not UTF-8") from error
    if "/" in text or "\0" in text or text in {".", ".."}:
        raise BadRequestError(f"the path segment {part!r} is not a name")
    return text

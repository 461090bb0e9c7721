"""Parses the URL paths of the Kubernetes API. Pure.

    /api/v1/namespaces/{ns}/pods/{name}/status      group "", version v1
    /apis/{group}/{version}/{plural}[/{name}[/{subresource}]]

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


_NAMESPACE_SUBRESOURCES = frozenset({"status", "finalize"})
_MAX_SEGMENTS = 9


def parse_path(path: str) -> ObjectPath | None:
    """The object path of a URL, None for any other path; `BadRequestError` for an invalid segment."""
    parts = path.strip("/").split("/")
    if "%" in path or "/." in path:
        parts = [_decoded(part) for part in parts]
    if parts[0] == "api" and len(parts) > 2:
        return _within("", parts[1], parts[2:])
    if parts[0] == "apis" and len(parts) > 3:
        return _within(parts[1], parts[2], parts[3:])
    return None


def _decoded(part: str) -> str:
    try:
        text = unquote(part, errors="strict") if part.isascii() else part
    except UnicodeDecodeError as error:
        raise BadRequestError(f"the path segment {part!r} is not UTF-8") from error
    if "/" in text or "\0" in text or text in {".", ".."}:
        raise BadRequestError(f"the path segment {part!r} is not a name")
    return text


def _within(group: str, version: str, parts: list[str]) -> ObjectPath | None:
    if len(parts) > _MAX_SEGMENTS or not all(parts):
        return None
    if parts[0] == "namespaces" and len(parts) > 2 and not (len(parts) == 3 and parts[2] in _NAMESPACE_SUBRESOURCES):
        return _object(group, version, parts[1], parts[2:])
    return _object(group, version, "", parts)


def _object(group: str, version: str, namespace: str, parts: list[str]) -> ObjectPath | None:
    match parts:
        case [plural]:
            return ObjectPath(group, version, plural, namespace)
        case [plural, name]:
            return ObjectPath(group, version, plural, namespace, name)
        case [plural, name, *rest]:
            return ObjectPath(group, version, plural, namespace, name, "/".join(rest))
    return None

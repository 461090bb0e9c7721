"""Applies the patches of a mutating webhook to a spec: add, replace and remove members. Pure.

A path leads through objects only: `/spec/replicas` and `/replicas` are the same, `/config/timeout` requires that
`config` exists. The given spec is never changed in place; unchanged parts are shared with the result.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from homeostat.objects.json import Json, JsonObject

_PREFIX = "spec"


class PatchError(ValueError):
    """The patch cannot be applied."""


class Patch(msgspec.Struct, frozen=True):
    op: str
    path: str
    value: Any = None


def apply_patches(spec: JsonObject, patches: Iterable[Patch]) -> JsonObject:
    for patch in patches:
        spec = _apply(spec, patch)
    return spec


def _apply(spec: JsonObject, patch: Patch) -> JsonObject:
    if patch.op not in ("add", "replace", "remove"):
        raise PatchError(f'unknown patch operation "{patch.op}"; use add, replace or remove')
    keys = _keys(patch.path)
    changed = dict(spec)
    at: JsonObject = changed
    for key in keys[:-1]:
        inner = at.get(key)
        if not isinstance(inner, dict):
            raise PatchError(f'{patch.op} "{patch.path}": there is no object at "{key}"')
        at[key] = at = dict(inner)
    _set(at, keys[-1], patch)
    return changed


def _set(at: dict[str, Json], key: str, patch: Patch) -> None:
    if patch.op != "remove":
        at[key] = patch.value
        return
    if key not in at:
        raise PatchError(f'remove "{patch.path}": the field does not exist')
    del at[key]


def _keys(path: str) -> list[str]:
    keys = path.removeprefix("/").split("/")
    if keys[0] == _PREFIX:
        keys = keys[1:]
    if not path.startswith("/") or not keys or "" in keys:
        raise PatchError(f'"{path}" is not a path inside the spec; use /spec/a/b or /a/b')
    return keys

"""The lock file: model, reader and printer. Pure.

Entries are sorted, so that the same closure always gives the same bytes.
"""

from __future__ import annotations

import re
from typing import Any, Final, Literal

import msgspec

from homeostat.objects.json import Json, encode
from homeostat.operators.contracts.engine.document.reader import YamlError, read_document
from homeostat.operators.contracts.engine.document.scalar import resolve

LOCK_VERSION: Final = 1
_is_plain = re.compile(r"[A-Za-z0-9_./^~][A-Za-z0-9_./^~@:+=-]*").fullmatch

Source = Literal["oci", "local"]


class LockError(ValueError):
    """The lock does not match, or cannot be built. The text starts with the code, which scripts read."""

    def __init__(self, code: str, problem: str) -> None:
        super().__init__(f"{code}: {problem}")
        self.code = code


class UnreadableLockError(LockError):
    """The file is not a lock of the supported version."""

    def __init__(self, problem: str) -> None:
        super().__init__("LOCK_ERROR", problem)


class Named(msgspec.Struct, frozen=True):
    name: str = ""
    version: str = ""


class Tool(msgspec.Struct, frozen=True):
    version: str = ""


class LockedDependency(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    name: str
    source: Source
    ref: str = ""
    path: str = ""
    constraint: str = ""
    version: str = ""
    digest: str = ""
    content_hash: str = ""
    depends_on: tuple[str, ...] = ()


class LockedReference(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    kind: Literal["config", "policy"]
    name: str
    source: Source
    ref: str = ""
    path: str = ""
    version: str = ""
    digest: str = ""
    content_hash: str = ""


class Lock(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    lock_version: int
    pacto: Tool
    root: Named
    dependencies: tuple[LockedDependency, ...] = ()
    references: tuple[LockedReference, ...] = ()

    def dependency(self, name: str) -> LockedDependency | None:
        return next((each for each in self.dependencies if each.name == name), None)


def make_lock(
    tool_version: str,
    root: Named,
    dependencies: list[LockedDependency],
    references: list[LockedReference],
) -> Lock:
    return Lock(
        lock_version=LOCK_VERSION,
        pacto=Tool(tool_version),
        root=root,
        dependencies=tuple(sorted(dependencies, key=lambda each: each.name)),
        references=tuple(sorted(references, key=lambda each: (each.kind, each.name, each.ref, each.path))),
    )


def read_lock(data: bytes) -> Lock:
    """Read a lock; raises `UnreadableLockError` unless it is a lock of `LOCK_VERSION`."""
    try:
        document = read_document(data)
    except YamlError as error:
        raise UnreadableLockError(f"pacto.lock is not YAML: {error}") from error
    value = None if document is None else document.as_written()
    value = value if isinstance(value, dict) else {}
    version = value.get("lockVersion")
    if version != LOCK_VERSION or isinstance(version, bool):
        raise UnreadableLockError(f"unsupported lockVersion {version or 0} (want {LOCK_VERSION}); run `lock` again")
    try:
        # Numbers are let through where texts belong: a version such as 1.0 may stand without quotes.
        return msgspec.convert(_texts(value), Lock)
    except msgspec.ValidationError as error:
        raise UnreadableLockError(f"pacto.lock does not have the expected fields: {error}") from error


def _texts(value: dict[str, Any]) -> dict[str, Any]:
    known = {"lockVersion": LOCK_VERSION, "pacto": value.get("pacto") or {}, "root": value.get("root") or {}}
    for name in ("dependencies", "references"):
        known[name] = value.get(name) or []
    return {key: item if key == "lockVersion" else _as_text(item) for key, item in known.items()}


def _as_text(value: Json) -> Json:
    if isinstance(value, dict):
        return {key: _as_text(item) for key, item in value.items() if item is not None}
    if isinstance(value, list):
        return [_as_text(item) for item in value]
    return value if isinstance(value, str) else str(value)


def print_lock(lock: Lock) -> bytes:
    """Print the lock as YAML, with keys in the order of the model."""
    value = msgspec.to_builtins(lock)
    lines = [f"lockVersion: {lock.lock_version}"]
    for name in ("pacto", "root"):
        lines += [f"{name}:", *(f"    {key}: {_scalar(item)}" for key, item in value[name].items())]
    for name in ("dependencies", "references"):
        if value.get(name):
            lines.append(f"{name}:")
            for entry in value[name]:
                lines += _entry(entry)
    return ("\n".join(lines) + "\n").encode()


def _entry(entry: dict[str, Any]) -> list[str]:
    lines: list[str] = []
    for key, item in entry.items():
        lead = "      " if lines else "    - "
        if isinstance(item, list | tuple):
            lines += [f"{lead}{key}:", *(f"        - {_scalar(each)}" for each in item)]
        else:
            lines.append(f"{lead}{key}: {_scalar(item)}")
    return lines


def _scalar(text: str) -> str:
    is_text = _is_plain(text) and ": " not in text and not text.endswith(":") and resolve(text).value == text
    return text if is_text else encode(text).decode()

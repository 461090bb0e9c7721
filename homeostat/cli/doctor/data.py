"""Checks a data directory: modes, keys, certificates, tokens, disk and database. It changes nothing, and a plane may
run meanwhile.
"""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Final

from homeostat.cli.doctor.server import judge_certificate
from homeostat.plane.metrics import disk_bytes
from homeostat.runtime.checkup import Finding, Result
from homeostat.server.access.tokens.file import TokenFileError, Tokens
from homeostat.server.pki.certificate import read_pem
from homeostat.store.base import StoreError
from homeostat.store.migration import OlderSchemaError

_PRIVATE: Final = ("seal.key", "tokens.json", "kubeconfig", "homeostat.db", "pki/*.key")
_KEYS: Final = {"pki/ca.key": "restore it from the copy of the keys", "pki/sa.key": "restore it, or tokens end"}
_OTHERS: Final = 0o077
_LITTLE, _TOO_LITTLE = 0.1, 0.01
_CHECK_WITHIN_S: Final = 30.0
_STEPS: Final = 100_000
_SEAL_BYTES: Final = 32
_GIB: Final = 1 << 30
_MIB: Final = 1 << 20


def check_data(data: Path, database: Path | str | None, now: datetime) -> Iterator[Finding]:
    """Blocks."""
    if not data.is_dir():
        yield Finding("data directory", "FAIL", f"{data} is not a directory", "name it with --data, or: homeostat up")
        return
    yield _modes(data)
    yield _disk(database.parent if isinstance(database, Path) else data)
    yield _keys(data, database)
    for path in sorted((data / "pki").glob("*.crt")):
        yield _certificate(path, now)
    if (data / "tokens.json").exists():
        yield _tokens(data / "tokens.json", now)
    if isinstance(database, str):
        return
    path = database or data / "homeostat.db"
    if path.exists():
        yield _database(path)
    else:
        yield Finding("database", "SKIPPED", f"{path} does not exist: no plane was started here with SQLite")


def _modes(data: Path) -> Finding:
    places = [data, *(path for pattern in _PRIVATE for path in data.glob(pattern))]
    open_ = [path for path in places if path.stat().st_mode & _OTHERS]
    if open_:
        named = ", ".join(str(path.relative_to(data.parent)) for path in open_)
        remedy = f"chmod -R go= {data}; replace keys and tokens that others may have read"
        return Finding("data directory", "FAIL", f"other users of the machine may open {named}", remedy)
    if not os.access(data, os.W_OK | os.X_OK):
        remedy = "run as its owner, or correct its owner; is its file system mounted read-only?"
        return Finding("data directory", "FAIL", f"{data} is not writable", remedy)
    return Finding("data directory", "OK", f"{data} is private and writable")


def _disk(place: Path) -> Finding:
    try:
        size, free = disk_bytes(place)
    except OSError as error:
        remedy = (
            "correct --database or HOMEOSTAT_DATABASE: a path from the root has four slashes, sqlite:////srv/plane.db"
        )
        return Finding("disk", "FAIL", f"cannot examine the disk of {place}: {error.strerror}", remedy)
    unit, name = (_GIB, "GiB") if size >= _GIB else (_MIB, "MiB")
    detail = f"{free / unit:.1f} of {size / unit:.1f} {name} free"
    remedy = "free space, or move the plane: homeostat migrate-store"
    if free < size * _TOO_LITTLE:
        return Finding("disk", "FAIL", detail, remedy)
    return Finding("disk", "WARN", detail, remedy) if free < size * _LITTLE else Finding("disk", "OK", detail)


def _keys(data: Path, database: Path | str | None) -> Finding:
    missing = [f"{name} is missing ({remedy})" for name, remedy in _KEYS.items() if not (data / name).is_file()]
    seal = data / "seal.key"
    if not seal.is_file():
        missing.append("seal.key is missing (without it the database cannot be opened)")
    elif seal.stat().st_size != _SEAL_BYTES:
        missing.append(f"seal.key has {seal.stat().st_size} bytes and not {_SEAL_BYTES}")
    if not missing:
        return Finding("keys", "OK", "seal.key, ca.key and sa.key are there")
    if database is None and not (data / "homeostat.db").exists():
        return Finding("keys", "SKIPPED", "there is no database yet: the first start creates the keys")
    return Finding("keys", "FAIL", "; ".join(missing), "copy the keys back from where you keep them")


def _certificate(path: Path, now: datetime) -> Finding:
    check = f"certificate {path.stem}"
    try:
        found = read_pem(path.read_bytes())
    except (OSError, ValueError) as error:
        return Finding(check, "FAIL", f"cannot be read: {error}", f"restore {path}, or move it away")
    remedy = (
        f"move {path.parent} away and restart: every kubeconfig has to be replaced"
        if path.stem == "ca"
        else "restart the plane, which renews it; its log says why it could not"
    )
    return judge_certificate(check, found, now, remedy)


def _tokens(path: Path, now: datetime) -> Finding:
    try:
        tokens = Tokens(path).list()
    except (TokenFileError, OSError) as error:
        return Finding("tokens", "FAIL", str(error), "restore the file; until then no bearer token is accepted")
    expired = [each for each in tokens if each.expires and each.expires <= now.timestamp()]
    if expired:
        named = ", ".join(f"{each.user} ({each.id})" for each in expired[:5])
        remedy = "create others and revoke these: homeostat token revoke ID"
        return Finding("tokens", "WARN", f"{len(expired)} of {len(tokens)} have expired: {named}", remedy)
    return Finding("tokens", "OK", f"{len(tokens)} tokens")


def _database(path: Path) -> Finding:
    from homeostat.store.sqlite.schema import connect_reader, require_readable

    restored = "stop the plane and restore a backup: homeostat restore"
    end = time.monotonic() + _CHECK_WITHIN_S
    try:
        connection = connect_reader(path)
        try:
            require_readable(connection, path)
            connection.set_progress_handler(lambda: time.monotonic() > end, _STEPS)
            (answer,) = connection.execute("PRAGMA quick_check(1)").fetchone()
        finally:
            connection.close()
    except StoreError as error:
        detail, _, remedy = str(error).partition("; ")
        result: Result = "WARN" if isinstance(error, OlderSchemaError) else "FAIL"
        return Finding("database", result, detail, remedy or "name another with --data or --database")
    except sqlite3.OperationalError as error:
        if time.monotonic() > end:
            return Finding("database", "OK", f"opened; the check was stopped after {_CHECK_WITHIN_S:.0f} s")
        # A full disk, or a directory that cannot be written: SQLite creates a file beside the database even to read it.
        unread = "check the free space, and that the directory can be written; if it stays so, restore a backup"
        return Finding("database", "FAIL", f"cannot read {path}: {error}", unread)
    except sqlite3.DatabaseError as error:
        return Finding("database", "FAIL", f"{path} is damaged: {error}", restored)
    if answer != "ok":
        return Finding("database", "FAIL", f"{path} is damaged: {answer}", restored)
    return Finding("database", "OK", f"{path.stat().st_size / _MIB:.1f} MiB, checked")

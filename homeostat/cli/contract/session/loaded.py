"""A bundle that a command works on, and its lock file."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec

from homeostat.external.files import read_limited
from homeostat.operators.contracts.engine.bundle.bundle import Bundle
from homeostat.operators.contracts.engine.document.parse import Parsed
from homeostat.operators.contracts.engine.files import CONTRACT_FILE, LOCK_FILE, Files
from homeostat.operators.contracts.engine.lock.lock import UnreadableLockError
from homeostat.operators.contracts.engine.reference import is_oci, location
from homeostat.operators.contracts.engine.validate import Overrides, load
from homeostat.operators.contracts.sources.directory import Directory
from homeostat.operators.contracts.sources.errors import InvalidBundleError

_LARGEST_LOCK = 8 << 20


class Loaded(msgspec.Struct, frozen=True):
    ref: str
    """As it was given."""
    root: str | None
    """The directory; None for a bundle of a registry."""
    parsed: Parsed
    """With overrides applied."""
    files: Files
    digest: str = ""

    @property
    def bundle(self) -> Bundle:
        return Bundle(self.parsed.contract, self.files, self.digest)


def load_local(ref: str, overrides: Overrides | None = None) -> Loaded:
    """Load the bundle of a directory. Raises `SourceError` or `ParseError`."""
    root = location(ref) or os.curdir
    files = Directory(root)
    return Loaded(ref, root, load(files, overrides), files)


def require_directory(ref: str, command: str) -> str:
    if is_oci(ref):
        raise InvalidBundleError(f"{command} requires a local directory, not an OCI reference: {ref}")
    return ref


def published_files(loaded: Loaded, overrides: Overrides, *, but: Path | None = None) -> dict[str, bytes]:
    """All files of a directory as they are published: with overrides applied, and without the file `but`, which an
    earlier run may have left in the directory.
    """
    assert isinstance(loaded.files, Directory)
    files = loaded.files.snapshot()
    if but is not None and but.is_relative_to(root := Path(loaded.files.root).resolve()):
        files.pop(but.relative_to(root).as_posix(), None)
    if overrides:
        from homeostat.objects import yaml

        files[CONTRACT_FILE] = yaml.dump(loaded.parsed.raw)
    return files


def lock_path(root: str) -> Path:
    return Path(root) / LOCK_FILE


def read_lock_file(root: str) -> bytes | None:
    """None if there is none. The lock counts even if `.pactoignore` names it. Raises `UnreadableLockError`."""
    try:
        return read_limited(lock_path(root), _LARGEST_LOCK)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise UnreadableLockError(f"cannot read {lock_path(root)}: {error.strerror}") from error

"""A bundle that was read: its contract and its files; or why one could not be read. Pure."""

from __future__ import annotations

from hashlib import sha256

import msgspec

from homeostat.operators.contracts.engine.document.contract import Contract
from homeostat.operators.contracts.engine.files import Files


class Bundle(msgspec.Struct, frozen=True):
    contract: Contract
    files: Files
    digest: str = ""
    """Of the manifest that it was pulled by; empty for a directory."""


class Unresolved(msgspec.Struct, frozen=True):
    """The reference could not be resolved to a bundle."""

    problem: str


def content_hash(files: Files) -> str:
    """Return a digest of all paths and contents; equal trees have equal digests."""
    found = sha256()
    for path in sorted(files):
        name, data = path.encode(), files[path]
        found.update(len(name).to_bytes(8, "big") + name + len(data).to_bytes(8, "big"))
        found.update(data)
    return f"sha256:{found.hexdigest()}"

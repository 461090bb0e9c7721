"""A bundle that was read: its contract and its files; or why one could not be read. Pure."""

from __future__ import annotations

import msgspec

from homeostat.operators.contracts.engine.document.contract import Contract
from homeostat.operators.contracts.engine.files import Files


class Bundle(msgspec.Struct, frozen=True):
    contract: Contract
    files: Files


class Unresolved(msgspec.Struct, frozen=True):
    """A reference that led to no bundle."""

    problem: str

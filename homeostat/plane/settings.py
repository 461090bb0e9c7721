"""The settings of a plane, as the command gives them.

A plane reads no environment variable itself, but passes all of them on to its operators.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from homeostat.edge.limits import Limits
from homeostat.operators.catalog import OURS
from homeostat.runtime.faces.listeners import FaceChoice
from homeostat.server.services.ranges import DEFAULT_CIDR

if TYPE_CHECKING:
    from homeostat.server.audit.policy import Policy

OPERATORS = frozenset({"housekeeping", *OURS})


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    data: Path
    """Keys, certificates, tokens and the kubeconfig; shared by the replicas on one database."""
    bind: str = "127.0.0.1"
    port: int = 7443
    limits: Limits = msgspec.field(default_factory=Limits)
    is_open: bool = False
    """Plain HTTP without credentials; loopback only."""
    database: Path | str | None = None
    """Where objects are stored: a file, or a `postgresql://` URL. The default is `homeostat.db` in `data`."""
    address: str = ""
    """The URL for clients, if it is not the address that the plane listens on: `https://plane.example:7443`."""
    operators: frozenset[str] = OPERATORS
    """The operators that run in the plane's process: housekeeping, and those that `operators/catalog.py` finds."""
    environment: Mapping[str, str] = msgspec.field(default_factory=lambda: os.environ)
    """Operators read their settings from it; it may contain secrets."""
    service_cidr: str = DEFAULT_CIDR
    """Where Services get their cluster addresses from; the same for all replicas on one database."""
    resumes_effects: bool = False
    """Let operators act again on a store that was restored from a backup."""
    faces: FaceChoice | None = None
    """Where the faces of the operators are served; None if they are not."""

    audit_log: Path | None = None
    """Where requests are logged; None if they are not."""
    audit_policy: Policy | None = None
    """Which of them, and how much; None for the default policy."""

    def __repr__(self) -> str:
        """Without the environment."""
        return f"Settings(data={str(self.data)!r}, bind={self.bind!r}, port={self.port})"

    @property
    def is_shared(self) -> bool:
        """Other replicas may work on the same database."""
        return isinstance(self.database, str)

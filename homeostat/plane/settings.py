"""What a plane is started with."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from homeostat.edge.limits import Limits
from homeostat.operators.catalog import OURS
from homeostat.runtime.faces.listeners import FaceChoice

OPERATORS = frozenset({"housekeeping", *OURS})


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    data: Path
    """Keys, certificates, tokens and the kubeconfig; shared by the replicas on one database."""
    bind: str = "127.0.0.1"
    port: int = 7443
    limits: Limits = field(default_factory=Limits)
    is_open: bool = False
    """Plain HTTP without credentials; loopback only."""
    database: Path | str | None = None
    """Where the objects are kept: a file, or a `postgresql://` URL; unless told `homeostat.db` in `data`."""
    address: str = ""
    """What clients call the plane, if that is not where it listens: `https://plane.example:7443`."""
    operators: frozenset[str] = OPERATORS
    """Which operators run in the plane's process: housekeeping, and whatever `operators/catalog.py` finds by name."""
    environment: Mapping[str, str] = field(default_factory=lambda: os.environ, repr=False)
    """What operators read their settings from; it may hold secrets."""
    faces: FaceChoice | None = None
    """Where the faces of the operators are served; None for nowhere."""

    @property
    def is_shared(self) -> bool:
        """Other replicas may work on the same database."""
        return isinstance(self.database, str)

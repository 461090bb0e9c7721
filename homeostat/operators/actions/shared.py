"""The dependencies that the controllers of all resource types share."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from homeostat.client.base import Client
from homeostat.external.secrets.stores import SecretStore
from homeostat.operators.actions.plugins.catalog import Catalog
from homeostat.operators.actions.plugins.plugin import Plugin
from homeostat.operators.actions.settings import ActionSettings


@dataclass(frozen=True, slots=True, kw_only=True)
class Dependencies:
    """Valid while this process is the leader: the next leader may start the runs that this one recorded."""

    client: Client
    plugins: Catalog[Plugin[Any]]
    stores: Mapping[str, SecretStore]
    directory: Path
    claims: Mapping[str, str] = field(default_factory=dict)
    """Which plugin claims a type, by the type's name."""
    disputes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Which plugins claim the same type."""
    settings: ActionSettings = ActionSettings()  # noqa: RUF009
    now: Callable[[], datetime] = lambda: datetime.now(UTC)
    chance: Callable[[], float] = random.random
    fresh: set[str] = field(default_factory=set)
    """Tickets of runs that this process has recorded and not started."""

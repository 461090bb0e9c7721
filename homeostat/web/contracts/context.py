"""What all pages of this API share."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from weakref import WeakKeyDictionary

from homeostat.operators.contracts.engine.services.catalogue import Catalogue
from homeostat.web.contracts.bundles import Bundles
from homeostat.web.contracts.library import Library
from homeostat.web.contracts.repositories import Repositories
from homeostat.web.contracts.settings import Settings
from homeostat.web.contracts.visibility import Visibility


@dataclass(slots=True)
class ContractsFace:
    visibility: Visibility
    bundles: Bundles
    library: Library
    repositories: Repositories
    settings: Settings
    now: Callable[[], datetime] = lambda: datetime.now(UTC)
    seconds: Callable[[], float] = lambda: asyncio.get_running_loop().time()
    _tags: WeakKeyDictionary[Catalogue, str] = field(default_factory=WeakKeyDictionary)

    def tag(self, view: Catalogue) -> str:
        """Changes with the catalogue. Other processes and other viewers have other tags."""
        return f"{self._tags.setdefault(view, secrets.token_hex(8))}-{view.version}"

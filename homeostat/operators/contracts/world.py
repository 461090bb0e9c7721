"""What `observe` has read for a Pacto: the frozen value that `decide` gets."""

from __future__ import annotations

from datetime import datetime

import msgspec

from homeostat.objects.conditions import Condition
from homeostat.operators.contracts.api import PactoRevision
from homeostat.operators.contracts.engine.checks.evaluate import Observed, Prepared
from homeostat.operators.contracts.loading.content import Version
from homeostat.operators.contracts.settings import Settings


class World(msgspec.Struct, frozen=True, kw_only=True):
    now: datetime
    prepared: Prepared
    """The contract with its overrides, validated; or why there is none."""
    version: Version | None = None
    """The version of the contract; None if none was loaded."""
    fault: str = ""
    """Why the contract may be outdated: its registry has a fault that may pass."""
    versions: tuple[Version, ...] = ()
    """All versions of the repository that were read."""
    observed: Observed | None = None
    """What runs; None for a Pacto without a target, and if the contract is invalid."""
    revisions: tuple[PactoRevision, ...] = ()
    is_new: bool = False
    """Whether the version has no revision yet: it is created first, and what runs is observed after that."""
    signature: Condition | None = None
    """Whether a trusted key has signed the contract; None if nothing has to be signed."""
    has_secret: bool = True
    """Whether the pull secret, if there is one, could be read."""
    due_in_s: float | None = None
    """When to ask the registry or an endpoint again."""
    settings: Settings = Settings()

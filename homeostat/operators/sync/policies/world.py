"""What was observed for a SyncPolicy: the frozen value that `decide` gets, and the action that it may ask for."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from homeostat.objects.errors import Cause
from homeostat.operators.sync.api.policy import Mode, PolicySpec

State = Literal["ready", "unready", "missing"]


@dataclass(frozen=True, slots=True)
class Dependency:
    kind: str
    name: str
    state: State
    message: str = ""
    """Of its Ready condition."""
    identity: str = ""
    """Of the object and its spec."""


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    now: datetime
    spec: PolicySpec
    """With the variables of the environment in place."""
    causes: tuple[Cause, ...] = ()
    rival: str = ""
    """An older policy with an overlapping path on the same server."""
    elsewhere: str = ""
    """A namespace with a policy for an overlapping path of a server with the same URL."""
    dependencies: tuple[Dependency, ...] = ()
    revision: str = ""
    poll_s: float = 60.0
    secrets_hash: str = ""
    dependencies_hash: str = ""
    interval_s: float = 300.0


@dataclass(frozen=True, slots=True)
class Begin:
    """Note in the status that a sync begins."""

    mode: Mode
    trigger: str
    revision: str
    time: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Sync:
    """Sync with the server."""

    mode: Mode
    trigger: str
    base: str
    """The revision that was applied before, for an incremental sync."""
    revision: str
    inputs: str
    secrets_hash: str
    dependencies_hash: str
    began: str
    """When the attempt began: each has actions of its own."""


@dataclass(frozen=True, slots=True)
class Preview:
    """Compute the plan of a full sync, and change nothing."""

    revision: str
    request: str


Action = Begin | Sync | Preview

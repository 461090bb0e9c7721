"""What was observed of a dependency: the frozen values that `decide` gets."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from homeostat.objects.errors import Cause


@dataclass(frozen=True, slots=True, kw_only=True)
class RepositoryWorld:
    now: datetime
    causes: tuple[Cause, ...] = ()
    """Why the spec is invalid; then nothing else was observed."""
    revision: str = ""
    path: str = ""
    error: str = ""
    interval_s: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerWorld:
    causes: tuple[Cause, ...] = ()
    openapi_path: str = ""
    metadata_path: str = ""
    error: str = ""
    event: str = ""
    """The reason of the Event about the error."""
    interval_s: float = 0.0
    health: Literal["unset", "pending", "passed", "failed"] = "unset"
    """Of the health check: unset if the spec has none, pending if it was not called yet."""
    health_error: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreWorld:
    causes: tuple[Cause, ...] = ()
    path: str = ""
    error: str = ""
    is_unknown: bool = False
    """Whether the error says nothing about the store: it did not answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhookWorld:
    causes: tuple[Cause, ...] = ()
    has_repository: bool = False
    secret_error: str = ""

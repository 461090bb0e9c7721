"""A run: one call of a plugin for a resource, recorded in the status of the resource before its first effect. Pure.

Its ticket is known before it starts. Everything that the plugin creates elsewhere carries the ticket, so that it can be
found again after a crash. `handle` identifies the run for the plugin, `outcome` says how it ended.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from homeostat.objects.conditions import Condition
from homeostat.objects.crd.field_meta import Count, Time

Purpose = Literal["plan", "apply", "destroy"]
Trigger = Literal["initial", "spec_change", "deletion", "retry", "manual", "scheduled"]

CANCELLED = "Cancelled"
"""The reason of a run that somebody cancelled."""
LONGEST_TEXT = 16_384
"""The end of an output is kept, because errors are at the end."""


class Part(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True, kw_only=True):
    """A part of a status: default values are not written."""


class Changes(Part, frozen=True, kw_only=True):
    """How many things were, or would be, created, updated and deleted."""

    created: Count = 0
    updated: Count = 0
    deleted: Count = 0


class Outcome(Part, frozen=True, kw_only=True):
    """How a run ended. `is_changed` is for plans: whether there is something to apply.

    `outputs` replace those of the resource unless they are empty. `conditions` are the plugin's own, beside Ready,
    Reconciling and Degraded. An outcome is written to the status, so it must not contain secrets.
    """

    is_success: bool
    reason: str = ""
    """Why it failed, as one CamelCase word."""
    message: str = ""
    is_changed: bool = False
    changes: Changes = Changes()
    output: str = ""
    url: str = ""
    """A link to the run, for people."""
    outputs: dict[str, Any] = msgspec.field(default_factory=dict)
    conditions: tuple[Condition, ...] = ()
    again_after_seconds: Annotated[float, Meta(ge=0)] | None = None
    """Seconds until the next check for drift; default: the interval of the type."""


class Steps(Part, frozen=True, kw_only=True):
    """When a run came to each step: its plugin was called, it waited for another system, it ended."""

    started: Time | None = None
    waiting: Time | None = None
    ended: Time | None = None


class Run(Part, frozen=True, kw_only=True):
    ticket: str
    purpose: Purpose
    trigger: Trigger
    digest: str
    """The digest of the declaration that the run is for; the resource may change meanwhile."""
    generation: int
    plugin: str = ""
    declaration: str = ""
    """The spec and action of the resource as JSON, for following the run after the resource has changed."""
    began: Time
    requested: str = ""
    """The value of the annotation that requested the run, if any."""
    is_drift: bool = False
    plan: str = ""
    changes: Changes = Changes()
    is_cancelled: bool = False
    """Somebody cancelled it; how it ended is in the outcome."""
    handle: dict[str, Any] | None = None
    outcome: Outcome | None = None
    steps: Steps = Steps()


def shortened(text: str, limit: int = LONGEST_TEXT) -> str:
    """Its end, which begins with a line unless that would lose much of it."""
    if len(text) <= limit:
        return text
    end = text[-limit + 4 :]
    begun, newline, lines = end.partition("\n")
    return f"...\n{lines}" if newline and len(begun) <= limit // 4 else f"...{end}"


def cancelled(run: Run) -> Run:
    """The run, ended by somebody: before it began, or together with the call of its plugin."""
    outcome = Outcome(is_success=False, reason=CANCELLED, message="somebody cancelled the run")
    return msgspec.structs.replace(run, is_cancelled=True, outcome=outcome)

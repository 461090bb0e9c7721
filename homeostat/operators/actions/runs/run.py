"""A run: one use of a plugin on behalf of a resource, as the resource's status holds it from before its first effect.

Its ticket is known before anything starts. Whatever the plugin makes elsewhere carries the ticket, so after a crash it
is found again by it. `handle` is what the plugin knows its run by, `outcome` how it ended. Pure.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from homeostat.objects.conditions import Condition
from homeostat.objects.crd.field_meta import Count, Time

Purpose = Literal["plan", "apply", "destroy"]
Trigger = Literal["initial", "spec_change", "deletion", "retry", "manual", "scheduled"]

LONGEST_TEXT = 16_384
"""Of what a program printed, the end is kept: there the error is."""


class Part(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True, kw_only=True):
    """A piece of a status: what is absent is not written."""


class Changes(Part, frozen=True, kw_only=True):
    """How many things were, or would be, made, changed and removed."""

    created: Count = 0
    updated: Count = 0
    deleted: Count = 0


class Outcome(Part, frozen=True, kw_only=True):
    """How a run ended. `is_changed` counts for a plan: whether there is something to apply.

    `outputs` replace those of the resource unless empty. `conditions` are the plugin's own, beside Ready and the like.
    Nothing in it is secret: it is written to the status.
    """

    is_success: bool
    reason: str = ""
    """Of a failure, in one CamelCase word."""
    message: str = ""
    is_changed: bool = False
    changes: Changes = Changes()
    output: str = ""
    url: str = ""
    """Where people see more of it."""
    outputs: dict[str, Any] = msgspec.field(default_factory=dict)
    conditions: tuple[Condition, ...] = ()
    again_after_seconds: Annotated[float, Meta(ge=0)] | None = None
    """When to look for drift next; unless given, the type's interval."""


class Run(Part, frozen=True, kw_only=True):
    ticket: str
    purpose: Purpose
    trigger: Trigger
    digest: str
    """Of the spec and the action that it is for: they may change meanwhile."""
    generation: int
    plugin: str = ""
    declaration: str = ""
    """The resource's own spec and action, as JSON: they may change before the run ends, and it is followed by these."""
    began: Time
    requested: str = ""
    """What asked for it by hand, if somebody did."""
    is_drift: bool = False
    plan: str = ""
    changes: Changes = Changes()
    handle: dict[str, Any] | None = None
    outcome: Outcome | None = None


def shortened(text: str, limit: int = LONGEST_TEXT) -> str:
    return text if len(text) <= limit else f"...{text[-limit + 3 :]}"

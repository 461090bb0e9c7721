"""The plan of a sync as a value: what would be done to each resource, and what it was computed from. Pure.

It can be kept in a file and read back. Differences are masked, and long values are cut: a plan is for people to read
and to agree to, and never the source of what is sent.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, Literal

import msgspec

from homeostat.objects.json import Json
from homeostat.operators.sync.engine.compare.difference import Difference
from homeostat.operators.sync.engine.errors import ConflictError, ValidationError
from homeostat.operators.sync.run.options import SyncOptions

VERSION: Final = 1
LARGEST: Final = 64 << 20
"""Bytes of a plan in a file."""
MOST_SHOWN: Final = 100
"""Differences of one resource that a plan lists."""
LONGEST_SHOWN: Final = 2_000
"""Bytes of one value that a plan shows."""
Action = Literal["create", "update", "unchanged", "delete", "gone", "undeclared", "unknown"]
Mode = Literal["incremental", "full"]


class Change(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """One masked difference."""

    pointer: str
    operation: Literal["add", "remove", "replace", "drop"]
    """`drop`: the file no longer declares the field, and the server has it."""
    local: Json = None
    remote: Json = None


class Step(msgspec.Struct, frozen=True, omit_defaults=True, rename="camel", gc=False):
    """What is intended for one resource."""

    path: str
    action: Action
    """`gone`: an object to delete that the server lacks. `undeclared`: it is ours, and prune is off. `unknown`: see
    `error`.
    """
    id: str = ""
    differences: tuple[Change, ...] = ()
    more: int = 0
    """Differences that are not listed."""
    held: str = ""
    """Why it is not carried out."""
    error: str = ""
    kind: str = ""
    """The kind of the error."""
    renamed_from: str = ""
    changed_by: str = ""
    """Who changed the object last, if the server reports it."""
    basis: str = ""
    """A digest of the declared value and of the server's, without secrets."""

    @property
    def is_drift(self) -> bool:
        return self.action in ("create", "update", "delete")

    @property
    def is_due(self) -> bool:
        return self.is_drift and not self.held


class SyncPlan(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    version: int = VERSION
    source: str
    is_recursive: bool = True
    mode: Mode
    reason: str = ""
    """Why it is full."""
    revision: str = ""
    made_at: str = ""
    options: SyncOptions = SyncOptions()
    server: str = ""
    """The address that it was computed from."""
    held: str = ""
    """Why nothing at all is carried out."""
    steps: tuple[Step, ...] = ()

    def count(self, *actions: Action) -> int:
        return sum(each.action in actions for each in self.steps)

    @property
    def drifted(self) -> list[Step]:
        return [each for each in self.steps if each.is_drift]

    @property
    def unknown(self) -> list[Step]:
        return [each for each in self.steps if each.action == "unknown"]


def _facts(step: Step) -> Iterable[str]:
    return (step.path, step.action, step.id, step.basis, step.renamed_from)


def _is_fact(step: Step) -> bool:
    return step.action not in ("unchanged", "gone", "undeclared")


def moved(before: SyncPlan, now: SyncPlan) -> list[str]:
    """Paths of which files or objects differ from what a plan was computed from."""
    old, new = ({each.path: tuple(_facts(each)) for each in plan.steps if _is_fact(each)} for plan in (before, now))
    return sorted(path for path in {*old, *new} if old.get(path) != new.get(path))


def check_same(before: SyncPlan, now: SyncPlan) -> None:
    """`ConflictError` if the world moved since the plan was made."""
    if before.server != now.server:
        raise ConflictError(f"the plan was made for {before.server}; this context has {now.server}")
    if paths := moved(before, now):
        shown = ", ".join(paths[:10]) + (f" and {len(paths) - 10} more" if len(paths) > 10 else "")
        raise ConflictError(f"files or objects changed since the plan was made: {shown}; make a new plan")


def shown_changes(found: Sequence[Difference], dropped: Sequence[Change] = ()) -> tuple[tuple[Change, ...], int]:
    """Masked differences with long values cut, and how many were left out."""
    changes = [Change(each.path, each.operation, _cut(each.local), _cut(each.remote)) for each in found[:MOST_SHOWN]]
    changes += dropped[: MOST_SHOWN - len(changes)]
    return tuple(changes), len(found) + len(dropped) - len(changes)


def _cut(value: Json) -> Json:
    if isinstance(value, bytes):
        return f"({len(value)} bytes)"
    if value is None or isinstance(value, bool | int | float):
        return value
    size = len(value) if isinstance(value, str) else len(msgspec.json.encode(value))
    return value if size <= LONGEST_SHOWN else f"({size} bytes)"


def encode_plan(plan: SyncPlan) -> bytes:
    return msgspec.json.format(msgspec.json.encode(plan), indent=1) + b"\n"


def decode_plan(data: bytes) -> SyncPlan:
    if len(data) > LARGEST:
        raise ValidationError(f"the plan is larger than {LARGEST} bytes")
    try:
        plan = msgspec.json.decode(data, type=SyncPlan)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError) as error:
        raise ValidationError(f"the file is not a plan: {error}; make one with homeostat sync plan --out") from error
    if plan.version != VERSION:
        raise ValidationError(f"the plan has version {plan.version}; expected {VERSION}")
    return plan

"""One look at one object: observe, decide, act, and one status write at the end.

Everything that touches the object or its operator is here; when to look, and what becomes of a look that failed, is the
controller's business. Promises, each with a test:

- the finalizer is there before the first effect and goes when a terminating object needs nothing more
- a receipt is written before the next effect
- a paused object is left alone and says so
- notices are told once the status is written
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Generic, TypeVar

from homeostat.client.base import Client
from homeostat.client.projection import Projection
from homeostat.client.requests import Writing
from homeostat.objects.conditions import Condition
from homeostat.objects.decision import Decision, Notice
from homeostat.objects.declared import Declared
from homeostat.objects.json import Json
from homeostat.objects.kind import Kind
from homeostat.runtime.cache.cache import Change
from homeostat.runtime.control.deadline import Deadline
from homeostat.runtime.control.finalizer import add_finalizer, remove_finalizer
from homeostat.runtime.control.operator import Operator
from homeostat.runtime.control.outcome import of_pause
from homeostat.runtime.control.recorder import About, Recorder
from homeostat.runtime.control.status import Snapshot, plan_status, snapshot_of, write_receipt, write_status
from homeostat.runtime.control.status_fields import StatusFields
from homeostat.runtime.telemetry.metrics import Metrics
from homeostat.runtime.telemetry.tracing import Tracer
from homeostat.runtime.watch.predicates import (
    Predicate,
    annotations_changed,
    any_of,
    generation_changed,
    labels_changed,
)

PAUSE = "homeostat.dev/paused"
Obj = TypeVar("Obj", bound=Declared)
World = TypeVar("World")
Action = TypeVar("Action")
_COUNTS: Predicate[Any] = any_of(generation_changed, annotations_changed(), labels_changed)


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    finalizer: str = ""
    """Held by every object from before the first effect until nothing of it is left."""
    concurrency: int = 8
    timeout_s: float = 300.0
    """Longest look, from observe to the last effect."""
    slots: asyncio.Semaphore | None = None
    """Where several controllers share one: how many looks are under way together in all of them."""
    has_status: bool = True
    """Off for kinds whose status is another's business: then only Events and logs tell."""
    when: Predicate[Any] = _COUNTS
    """Which changes of an object are worth a look; unless told, those of spec, labels, annotations and deletion. That
    deletion began, or that the object is paused or no more, always is.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class Tools:
    """What the controllers of an operator share. `refusal` tells why nothing may be written now; empty if it may."""

    client: Client
    recorder: Recorder
    metrics: Metrics
    tracer: Tracer
    refusal: Callable[[], str] = lambda: ""
    now: Callable[[], datetime] = lambda: datetime.now(UTC)


class Look(Generic[Obj]):
    """`snapshot` follows what the look itself writes."""

    __slots__ = ("obj", "snapshot")

    def __init__(self, obj: Obj) -> None:
        self.obj = obj
        self.snapshot = snapshot_of(obj)


class Looker(Generic[Obj, World, Action]):
    def __init__(
        self,
        name: str,
        kind: Kind,
        operator: Operator[Obj, World, Action],
        *,
        tools: Tools,
        options: Options,
        status_fields: StatusFields | None = None,
    ) -> None:
        self._kind, self._operator = kind, operator
        self._tools, self._options, self._status_fields = tools, options, status_fields
        self._objects = Projection(tools.client, kind, Snapshot)
        self._any_objects = Projection(tools.client, kind, Declared)
        self._writing = Writing(manager=f"homeostat-{name}")
        self._limit = Deadline(options.timeout_s)

    async def look(
        self, look: Look[Obj], *, is_repeated: Callable[[Decision[Action]], bool]
    ) -> Decision[Action] | None:
        """The decision that was carried out; None where the object is no business of ours any more.

        Actions that `is_repeated` knows to have been done right before are not done again.
        """
        with self._limit():
            obj, finalizer = look.obj, self._options.finalizer
            if is_paused(obj):
                await self.report(look, of_pause(PAUSE, look.snapshot), is_observed=False)
                return Decision()
            if not self.is_ours(obj):
                return None
            if finalizer:
                look.snapshot = await add_finalizer(self._objects, look.snapshot, finalizer, writing=self._writing)
            decision = await self.decide(obj)
            if obj.is_terminating and decision.is_settled:
                await remove_finalizer(self._objects, look.snapshot, finalizer, writing=self._writing)
                self._tell(obj, decision)
                return None
            if not is_repeated(decision):
                await self._act(look, decision)
            await self.report(look, decision.conditions, decision.status)
            self._tell(obj, decision)
            return decision

    def is_ours(self, obj: Obj) -> bool:
        """Of what is being deleted, only what waits for us."""
        return not obj.is_terminating or self._options.finalizer in obj.metadata.finalizers

    async def decide(self, obj: Obj) -> Decision[Action]:
        """Reads and writes nothing; what a dry run is made of."""
        with self._tools.tracer.span("observe"):
            world = await self._operator.observe(obj)
        decision = self._operator.decide(obj, world)
        if self._status_fields is not None:
            self._status_fields.check(decision.status)
        return decision

    async def report(
        self,
        look: Look[Any],
        conditions: Iterable[Condition],
        fields: Mapping[str, Json] | None = None,
        *,
        is_observed: bool = True,
    ) -> None:
        if self._options.has_status:
            now = self._tools.now()
            patch = plan_status(look.snapshot, conditions, fields, now=now, is_observed=is_observed)
            look.snapshot = await write_status(self._objects, look.snapshot, patch, writing=self._writing)

    async def report_unread(self, namespace: str, name: str, conditions: Iterable[Condition]) -> None:
        """Of an object that does not fit its projection: what every object has is fetched, and is enough."""
        if self._options.has_status:
            look = Look(await self._any_objects.get(name, namespace))
            told = of_pause(PAUSE, look.snapshot) if is_paused(look.obj) else conditions
            await self.report(look, told, is_observed=False)

    def tell(self, obj: Obj, notice: Notice) -> None:
        metadata = obj.metadata
        about = About(self._kind.api_version, self._kind.kind, metadata.namespace, metadata.name, metadata.uid)
        self._tools.recorder.record(about, notice.type, notice.reason, notice.message, by=self._writing.manager)

    async def _act(self, look: Look[Obj], decision: Decision[Action]) -> None:
        for action in decision.actions:
            with self._tools.tracer.span("act", action=type(action).__name__):
                receipt = await self._operator.act(look.obj, action)
            if receipt is not None:
                look.snapshot = await write_receipt(self._objects, look.snapshot, receipt, writing=self._writing)
                if self._status_fields is not None:
                    # After the write: what was done is done, and what the server takes of it is kept.
                    self._status_fields.check(receipt.status)

    def _tell(self, obj: Obj, decision: Decision[Action]) -> None:
        for notice in decision.notices:
            self.tell(obj, notice)


def is_paused(obj: Declared) -> bool:
    return obj.metadata.annotations.get(PAUSE, "false") != "false"


def turns(change: Change[Declared]) -> bool:
    """Deletion or a pause begins or ends: whatever else an operator wants to know of, the runtime has to see to it."""
    old, new = change.old, change.new
    if old is None or new is None:
        return False
    return is_paused(old) != is_paused(new) or old.is_terminating != new.is_terminating

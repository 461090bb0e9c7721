"""One reconciliation of one object: observe, decide, act, and one status write at the end.

Everything that touches the object or calls its operator is here. The controller decides when to reconcile, and what
follows a failure. Promises, each with a test:

- the finalizer is there before the first effect and is removed when a terminating object needs nothing more
- a receipt is written before the next effect
- a paused object is not reconciled, and its status says so
- notices are recorded once the status is written
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import Any, Generic, TypeVar

from homeostat.client.base import Client
from homeostat.client.projection import Projection
from homeostat.client.requests import Writing
from homeostat.edge.threads import in_thread
from homeostat.objects.conditions import Condition
from homeostat.objects.decision import Decision, Notice
from homeostat.objects.declared import Declared
from homeostat.objects.json import Json
from homeostat.objects.kind import Kind
from homeostat.runtime.cache.cache import Change
from homeostat.runtime.control.deadline import Deadline
from homeostat.runtime.control.failure_conditions import PAUSE, of_pause
from homeostat.runtime.control.finalizer import add_finalizer, remove_finalizer
from homeostat.runtime.control.operator import Operator
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

Obj = TypeVar("Obj", bound=Declared)
World = TypeVar("World")
Action = TypeVar("Action")
_COUNTS: Predicate[Any] = any_of(generation_changed, annotations_changed(), labels_changed)


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    finalizer: str = ""
    """On every object from before the first effect until nothing is left to do for it."""
    concurrency: int = 8
    timeout_s: float = 300.0
    """Deadline of a reconciliation, from observe to the last effect."""
    slots: asyncio.Semaphore | None = None
    """Limits concurrent reconciliations over all controllers that share it."""
    component: str = ""
    """The source of Events; by default `homeostat-` and the name of the controller."""
    has_status: bool = True
    """Off for kinds whose status another controller writes: then there are only Events and logs."""
    decides_in_thread: bool = False
    """On for an operator whose `decide` takes long for large objects, so that it does not block the event loop."""
    when: Predicate[Any] = _COUNTS
    """Which changes of an object request a reconciliation; by default those of spec, labels, annotations and deletion.
    The start of deletion, a pause and its end always do.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class Tools:
    """What the controllers of an operator share. `refusal` is why writes are not allowed now; empty if they are."""

    client: Client
    recorder: Recorder
    metrics: Metrics
    tracer: Tracer
    refusal: Callable[[], str] = lambda: ""
    now: Callable[[], datetime] = lambda: datetime.now(UTC)


class Reconciliation(Generic[Obj]):
    """`snapshot` is the object after the writes of this reconciliation."""

    __slots__ = ("obj", "snapshot")

    def __init__(self, obj: Obj) -> None:
        self.obj = obj
        self.snapshot = snapshot_of(obj)


class Reconciler(Generic[Obj, World, Action]):
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
        self._component = options.component or self._writing.manager
        self._limit = Deadline(options.timeout_s)

    async def reconcile(
        self, current: Reconciliation[Obj], *, is_repeated: Callable[[Decision[Action]], bool]
    ) -> Decision[Action] | None:
        """The decision that was carried out; None where the object needs no more reconciliation.

        Actions that were carried out right before (`is_repeated`) are not repeated.
        """
        with self._limit():
            obj, finalizer = current.obj, self._options.finalizer
            if is_paused(obj):
                await self.report(current, of_pause(PAUSE, current.snapshot), is_observed=False)
                return Decision()
            if not self.is_ours(obj):
                return None
            if finalizer:
                current.snapshot = await add_finalizer(
                    self._objects, current.snapshot, finalizer, writing=self._writing
                )
            decision = await self.decide(obj)
            if obj.is_terminating and decision.is_settled:
                await remove_finalizer(self._objects, current.snapshot, finalizer, writing=self._writing)
                self._record_all(obj, decision)
                return None
            if not is_repeated(decision):
                await self._act(current, decision)
            await self.report(current, decision.conditions, decision.status, absent=decision.absent)
            self._record_all(obj, decision)
            return decision

    def is_ours(self, obj: Obj) -> bool:
        """A terminating object only while it has our finalizer."""
        return not obj.is_terminating or self._options.finalizer in obj.metadata.finalizers

    async def decide(self, obj: Obj) -> Decision[Action]:
        """Observes and decides; writes nothing, as in a dry run."""
        with self._tools.tracer.span("observe"):
            world = await self._operator.observe(obj)
        if self._options.decides_in_thread:
            decision = await in_thread(partial(self._operator.decide, obj, world), user=self._component)
        else:
            decision = self._operator.decide(obj, world)
        if self._status_fields is not None:
            self._status_fields.check(decision.status)
        return decision

    async def report(
        self,
        current: Reconciliation[Any],
        conditions: Iterable[Condition],
        fields: Mapping[str, Json] | None = None,
        *,
        is_observed: bool = True,
        absent: tuple[str, ...] = (),
    ) -> None:
        if self._options.has_status:
            now = self._tools.now()
            patch = plan_status(current.snapshot, conditions, fields, now=now, is_observed=is_observed, absent=absent)
            current.snapshot = await write_status(self._objects, current.snapshot, patch, writing=self._writing)

    async def report_unreadable(self, namespace: str, name: str, conditions: Iterable[Condition]) -> None:
        """For an unreadable object: fetches the metadata and status that every object has."""
        if self._options.has_status:
            current = Reconciliation(await self._any_objects.get(name, namespace))
            shown = of_pause(PAUSE, current.snapshot) if is_paused(current.obj) else conditions
            await self.report(current, shown, is_observed=False)

    def record(self, obj: Obj, notice: Notice) -> None:
        metadata = obj.metadata
        about = About(self._kind.api_version, self._kind.kind, metadata.namespace, metadata.name, metadata.uid)
        self._tools.recorder.record(about, notice.type, notice.reason, notice.message, by=self._component)

    async def _act(self, current: Reconciliation[Obj], decision: Decision[Action]) -> None:
        for action in decision.actions:
            with self._tools.tracer.span("act", action=type(action).__name__):
                receipt = await self._operator.act(current.obj, action)
            if receipt is not None:
                current.snapshot = await write_receipt(self._objects, current.snapshot, receipt, writing=self._writing)
                if self._status_fields is not None:
                    # After the write: the effect has happened, and the server keeps the fields that it knows.
                    self._status_fields.check(receipt.status)

    def _record_all(self, obj: Obj, decision: Decision[Action]) -> None:
        for notice in decision.notices:
            self.record(obj, notice)


def is_paused(obj: Declared) -> bool:
    return obj.metadata.annotations.get(PAUSE, "false") != "false"


def lifecycle_changed(change: Change[Declared]) -> bool:
    """Deletion or a pause begins or ends: the runtime handles both, whatever predicate an operator sets."""
    old, new = change.old, change.new
    if old is None or new is None:
        return False
    return is_paused(old) != is_paused(new) or old.is_terminating != new.is_terminating

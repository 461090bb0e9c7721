"""Keeps the objects of one kind as they are declared: when to reconcile which, and how a reconciliation ends.

Promises, each with a test:

- an object is never reconciled twice at once, and never in an older version than this controller wrote
- after acting the object is reconciled again; the same actions right after acting count as a failure and back off
- however many objects wait in one namespace, those of another get their turn
- an object whose reconciliations cause each other is limited in rate, and other objects are not affected
- however a reconciliation ends, the object is not lost: it is settled, due again, or handled by the leader
- an unreadable object is not absent: a reconciliation that needs it fails, and is retried when it changes

| a reconciliation ends with | queue | conditions | log |
|---|---|---|---|
| a `Decision` | forget; add after `requeue_after` | those decided | none |
| the same actions right after they were done | retry with backoff | those decided | warning, once |
| the object gone | forget | none | none |
| `ConflictError` | retry | untouched | debug |
| `Wait(reason, after)` | forget; add after | Reconciling=True, Ready=Unknown | info |
| `Stalled(reason)` | forget until the spec or a dependency changes | Stalled=True, Ready=False | warning, Event |
| a write that we refused | forget: the leader reconciles | untouched | info |
| `UnreadableError` | retry with backoff, and when that object changes | Ready=False, Unreadable | error, once |
| any other error | retry with backoff | Ready=False, reason of the error | error, once |
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Any, Generic, TypeVar

import msgspec

from homeostat.client.base import UnreachableError
from homeostat.client.projection import ProjectionError
from homeostat.objects.decision import Decision, Notice, Stalled, Wait
from homeostat.objects.declared import Declared
from homeostat.objects.errors import ApiError, ConflictError, NotFoundError
from homeostat.objects.kind import Kind
from homeostat.runtime.cache.cache import Change
from homeostat.runtime.cache.decoding import Projected, UnreadableObject
from homeostat.runtime.cache.informer import Informer
from homeostat.runtime.cache.unreadable import UnreadableError
from homeostat.runtime.control.failure_conditions import of_error, of_stall, of_wait, sole_error
from homeostat.runtime.control.failure_log import Failures, log_fields, summary_of
from homeostat.runtime.control.hot_loop_limit import Breaker
from homeostat.runtime.control.operator import Operator, Request
from homeostat.runtime.control.queue import Priority, WorkQueue
from homeostat.runtime.control.reconcile import Options, Reconciler, Reconciliation, Tools, is_paused, lifecycle_changed
from homeostat.runtime.control.status_fields import StatusFields
from homeostat.runtime.control.workers import Workers
from homeostat.runtime.control.writes import RefusedWriteError, Scope, Scopes, writing_in
from homeostat.runtime.telemetry.state import ControllerState, Failing
from homeostat.runtime.telemetry.tracing import SILENT, Span
from homeostat.runtime.watch.predicates import Predicate, any_of
from homeostat.runtime.watch.routes import Route, to_itself

log = logging.getLogger(__name__)

Obj = TypeVar("Obj", bound=Declared)
World = TypeVar("World")
Action = TypeVar("Action")
V = TypeVar("V", bound=Projected)
_CATCH_UP_S = 30.0
_MOST_FAILURES = 20
_WRITE_S = 60.0
_LONGEST_RETRY_AFTER_S = 300.0
_UNWRITTEN = (ApiError, UnreachableError, ProjectionError, RefusedWriteError, TimeoutError)
_End = Decision[Action] | Exception | None
"""How a reconciliation ended; None if the object is gone."""


@dataclass(frozen=True, slots=True)
class Plan(Generic[Action]):
    """What a reconciliation would decide. Without a decision it would wait for something, or fail."""

    request: Request
    decision: Decision[Action] | None = None
    wait: str = ""
    trouble: str = ""
    is_released: bool = False
    """Nothing is left to do for a terminating object: the finalizer is removed."""


class Controller(Generic[Obj, World, Action]):
    """Runs any number of terms, one at a time, each with a queue of its own."""

    def __init__(
        self,
        name: str,
        kind: Kind,
        informer: Informer[Obj],
        operator: Operator[Obj, World, Action],
        *,
        tools: Tools,
        options: Options,
        status_fields: StatusFields | None = None,
    ) -> None:
        self.name, self.kind, self.informer = name, kind, informer
        self.queue: WorkQueue[Request] | None = None
        self.breaker: Breaker[Request] = Breaker()
        self._tools, self._options = tools, options
        self._reconciler = Reconciler(name, kind, operator, tools=tools, options=options, status_fields=status_fields)
        self._routes: list[tuple[Informer[Any], Callable[[Change[Any]], None]]] = []
        self._workers: Workers[Request] | None = None
        self._scopes: Scopes[Request] = Scopes()
        self._acted: dict[Request, tuple[Action, ...]] = {}
        self._failures = Failures()
        self._blocked: dict[Request, Callable[[], None]] = {}
        """Objects that wait for an unreadable object to change, and what ends the wait."""
        self._is_catching_up = False
        tools.metrics.watch_breaker(name, self.breaker)
        self.also(informer, to_itself(kind), when=any_of(options.when, lifecycle_changed))

    def also(self, informer: Informer[V], route: Route[V], *, when: Predicate[V] | None = None) -> None:
        """Reconciles the objects that the route names when these objects change. May be called at any time."""

        def observe(change: Change[V]) -> None:
            if self.queue is None:
                return
            is_relisted = self._is_catching_up or informer.watcher.is_notifying_list
            priority = Priority.RESYNC if is_relisted else Priority.CHANGE
            try:
                for request in route(change) if when is None or when(change) else ():
                    self.queue.add(request, priority=priority)
            except UnreadableError as error:
                fields = {"controller": self.name, "object": f"{change.namespace}/{change.name}", "error": str(error)}
                log.error("cannot route change: related object is unreadable", extra=fields)
                error.when_changed((self.name, informer, route, change[:2]), lambda: observe(change))

        self._routes.append((informer, observe))
        if self.queue is not None:
            self._add_handler(informer, observe)

    def state(self) -> ControllerState:
        """What the queue holds, how reconciles went, and which objects fail."""
        reasons = self._failures.reasons
        first = [Failing(str(request), reason) for request, reason in islice(reasons.items(), _MOST_FAILURES)]
        return msgspec.structs.replace(
            self._tools.metrics.state(self.name),
            trips=self.breaker.trips,
            failing=len(reasons),
            failures=tuple(first),
        )

    def enqueue(self, namespace: str, name: str, *, after_s: float = 0.0) -> None:
        """Requests a reconciliation for a reason that no cache shows, such as a webhook."""
        if self.queue is not None:
            self.queue.add(Request(self.kind.full_name, namespace, name), after_s=after_s)

    async def run(self) -> None:
        """One term: until `close`, or until cancelled. The caches are in sync when it begins."""
        # Whoever has one namespace must not make the objects of others wait for all of theirs.
        queue: WorkQueue[Request] = WorkQueue(share=lambda request: request.namespace)
        self.queue = queue
        self._tools.metrics.watch_queue(self.name, queue)
        self._workers = Workers(
            queue, self._work, name=self.name, count=self._options.concurrency, conclude=self._requeue_defect
        )
        try:
            for informer, handler in self._routes:
                self._add_handler(informer, handler)
            self.informer.add_unreadable_handler(self._enqueue_unreadable)
            await self._workers.run()
        finally:
            self.informer.remove_unreadable_handler(self._enqueue_unreadable)
            for informer, handler in self._routes:
                informer.remove_handler(handler)
            queue.close()
            self.queue = self._workers = None
            for request in list(self._blocked):
                self._unblock(request)
            self._scopes.clear()
            self._acted.clear()
            self._failures.clear()

    async def close(self, grace_s: float) -> bool:
        """Ends the term: starts nothing more, and cancels what is still running after the grace period."""
        return True if self._workers is None else await self._workers.close(grace_s)

    async def plan(self, obj: Obj) -> Plan[Action]:
        """What a reconciliation would decide. Nothing is written."""
        request = Request(self.kind.full_name, obj.metadata.namespace, obj.metadata.name)
        if is_paused(obj) or not self._reconciler.is_ours(obj):
            return Plan(request, Decision())
        try:
            with writing_in(Scope(lambda: "this is a dry run")):
                async with asyncio.timeout(self._options.timeout_s):
                    decision = await self._reconciler.decide(obj)
            return Plan(request, decision, is_released=obj.is_terminating and decision.is_settled)
        except Exception as caught:
            error = sole_error(caught)
            summary = summary_of(error)
            return Plan(request, wait=summary) if isinstance(error, Wait) else Plan(request, trouble=summary)

    def plan_unreadable(self) -> list[Plan[Action]]:
        """The unreadable objects, which cannot be reconciled, each with the reason."""
        return [
            Plan(self._request(each), trouble=summary_of(self.informer.unreadable_error(each)))
            for each in self.informer.cache.unreadable
        ]

    def _request(self, unreadable: UnreadableObject) -> Request:
        return Request(self.kind.full_name, unreadable.namespace, unreadable.name)

    def _enqueue_unreadable(self, unreadable: UnreadableObject) -> None:
        if self.queue is not None:
            self.queue.add(self._request(unreadable))

    def _add_handler(self, informer: Informer[Any], handler: Callable[[Change[Any]], None]) -> None:
        self._is_catching_up = True
        try:
            informer.add_handler(handler)
        finally:
            self._is_catching_up = False

    async def _work(self, request: Request) -> None:
        slots = self._options.slots
        if slots is None:
            await self._reconcile(request)
            return
        async with slots:
            await self._reconcile(request)

    async def _reconcile(self, request: Request) -> None:
        started = asyncio.get_running_loop().time()
        queue = self.queue
        assert queue is not None
        wait_s = self.breaker.admit(request, started)
        if wait_s:
            queue.add(request, after_s=wait_s)
            self._tools.metrics.reconciled(self.name, "rationed", 0.0)
            return
        scope = self._scopes.take(request, self._tools.refusal)
        tracer = self._tools.tracer
        span = tracer.span("reconcile", controller=self.name, object=str(request)) if tracer.is_on else SILENT
        try:
            with writing_in(scope), span as active:
                outcome = await self._attempt(request, scope, queue, active)
                active.set(outcome=outcome)
        finally:
            self._scopes.keep(request, scope)
        self._tools.metrics.reconciled(self.name, outcome, asyncio.get_running_loop().time() - started)

    async def _attempt(self, request: Request, scope: Scope, queue: WorkQueue[Request], span: Span) -> str:
        """The outcome in one word. An error ends the reconciliation and not the worker."""
        current: Reconciliation[Obj] | None = None
        end: _End[Action] = None
        try:
            if scope.is_behind:
                async with asyncio.timeout(_CATCH_UP_S):
                    await scope.caught_up()
            obj = self.informer.cache.get(request.namespace, request.name)
            if obj is not None:
                current = Reconciliation(obj)
                end = await self._reconciler.reconcile(current, is_repeated=partial(self._is_repeated, request))
        except Exception as error:
            span.record_error(error)
            end = sole_error(error)
        if isinstance(end, Decision):
            return self._requeue(request, end, queue)
        try:
            async with asyncio.timeout(_WRITE_S):
                return await self._conclude(request, end, current, queue)
        except _UNWRITTEN as error:
            log.debug("failed to write status; retrying", extra=log_fields(request, error))
            if isinstance(error, NotFoundError):
                self._forget(request, queue)
                return "gone"
            queue.retry(request, at_least_s=_retry_after_s(error))
            return "conflict" if isinstance(error, ConflictError) else "failed"

    async def _conclude(
        self, request: Request, end: Exception | None, current: Reconciliation[Obj] | None, queue: WorkQueue[Request]
    ) -> str:
        match end:
            case None:
                self._forget(request, queue)
                return "gone"
            case ConflictError():
                queue.retry(request)
                log.debug("write conflict; retrying", extra=log_fields(request, end))
                return "conflict"
            case RefusedWriteError():
                self._settle(request, queue)
                log.info("write refused; the leader reconciles", extra=log_fields(request, end))
                return "refused"
            case Wait():
                self._settle(request, queue)
                queue.add(request, after_s=end.after.total_seconds())
                log.info("waiting; will reconcile again", extra=log_fields(request, end))
                if current is not None:
                    await self._reconciler.report(current, of_wait(end))
                return "waiting"
            case Stalled():
                self._end_retries(request, queue)
                self._failures.stalled(request, end)
                if current is not None:
                    self._reconciler.record(current.obj, Notice("Warning", end.reason, str(end)))
                    await self._reconciler.report(current, of_stall(end))
                return "stalled"
            case _:
                self._failures.failed(request, end)
                if isinstance(end, UnreadableError):
                    self._unblock(request)
                    self._blocked[request] = end.when_changed((self.name, request), partial(queue.add, request))
                if current is not None:
                    await self._reconciler.report(current, of_error(end))
                elif isinstance(end, UnreadableError):
                    await self._reconciler.report_unreadable(request.namespace, request.name, of_error(end))
                queue.retry(request, at_least_s=_retry_after_s(end))
                return "failed"

    def _requeue(self, request: Request, decision: Decision[Action], queue: WorkQueue[Request]) -> str:
        if decision.is_settled:
            self._settle(request, queue)
            if decision.requeue_after is not None:
                queue.add(request, after_s=decision.requeue_after.total_seconds())
            return "settled"
        if self._is_repeated(request, decision):
            # Forgotten here, so that after the backoff it is done again.
            del self._acted[request]
            self._failures.repeated(request, decision.actions)
            queue.retry(request)
            return "repeated"
        self._failures.acted(request)
        self._acted[request] = decision.actions
        queue.add(request)
        return "acted"

    def _is_repeated(self, request: Request, decision: Decision[Action]) -> bool:
        """The actions that were carried out right before show no effect."""
        return bool(decision.actions) and self._acted.get(request) == decision.actions

    def _settle(self, request: Request, queue: WorkQueue[Request]) -> None:
        """Nothing is wrong with the object."""
        self._end_retries(request, queue)
        self._unblock(request)
        self._failures.forget(request)

    def _unblock(self, request: Request) -> None:
        """No longer waits for an unreadable object."""
        if (end := self._blocked.pop(request, None)) is not None:
            end()

    def _end_retries(self, request: Request, queue: WorkQueue[Request]) -> None:
        """The next reconciliation starts without backoff, and may act as the last one did."""
        queue.forget(request)
        self._acted.pop(request, None)

    def _forget(self, request: Request, queue: WorkQueue[Request]) -> None:
        """The object is gone."""
        self._settle(request, queue)
        self.breaker.forget(request)

    def _requeue_defect(self, request: Request, error: Exception | None) -> None:
        """The reconciliation has queued what follows; an error that left it is a defect of ours."""
        if error is not None and self.queue is not None:
            self.queue.retry(request)
            log.error("reconciliation failed unexpectedly; retrying", extra=log_fields(request, error), exc_info=error)


def _retry_after_s(error: Exception) -> float:
    """The server's Retry-After, which is honoured up to a limit."""
    return min(error.retry_after_s, _LONGEST_RETRY_AFTER_S) if isinstance(error, ApiError) else 0.0

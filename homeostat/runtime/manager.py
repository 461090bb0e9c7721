"""All operators of a process on one server: shared caches, one recorder, one stop.

    manager = Manager(client, leases="homeostat")
    manager.add("greeter", greeter.register, greeter.KINDS)
    await manager.run()

Everything runs in one task group: an unexpected error ends all of it, so that no process goes on with half of its
watches dead.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from homeostat.client.base import Client
from homeostat.edge.turn import map_concurrently
from homeostat.objects.crd.custom_kind import CustomKind
from homeostat.runtime.cache.informer import Informers
from homeostat.runtime.control.controller import Controller, Plan
from homeostat.runtime.control.reconcile import Tools
from homeostat.runtime.control.recorder import Recorder
from homeostat.runtime.control.writes import Watched
from homeostat.runtime.description import Description
from homeostat.runtime.host import Host, Term, watch_trouble
from homeostat.runtime.leader import TERMS, Election, Terms, unique_identity
from homeostat.runtime.setup import Job, Setup
from homeostat.runtime.telemetry.metrics import Metrics
from homeostat.runtime.telemetry.state import OperatorState
from homeostat.runtime.telemetry.tracing import OFF, Tracer
from homeostat.runtime.waking import first_object
from homeostat.runtime.watch.watcher import Pace

log = logging.getLogger(__name__)

COMPONENT = "homeostat"
_PLANS_AT_ONCE = 32
_PLAN_ROUNDS, _PLAN_PAUSE_S = 10, 0.5
_FLUSH_WITHIN_S = 5.0


class Manager:
    """Create it inside a running event loop. `leases` is the namespace of the Leases. Each operator has its own Lease,
    so that several processes share the operators. Without `leases` this process is the leader from the start. While it
    `is_paused`, operators are set up and their caches filled, but they neither observe nor act.
    """

    def __init__(
        self,
        client: Client,
        *,
        namespace: str = "",
        leases: str = "",
        identity: str = "",
        terms: Terms = TERMS,
        pace: Pace = Pace(),  # noqa: B008
        grace_s: float = 20.0,
        directory: Path | None = None,
        environment: Mapping[str, str] | None = None,
        metrics: Metrics | None = None,
        tracer: Tracer = OFF,
        is_paused: bool = False,
    ) -> None:
        self.identity = identity or unique_identity()
        self.metrics = metrics or Metrics()
        self.informers = Informers(client, pace=pace)
        self.client = client.over(lambda transport: Watched(transport, self.informers))
        self.recorder = Recorder(client, COMPONENT, instance=self.identity)
        self._bare, self._namespace, self._leases, self._terms = client, namespace, leases, terms
        self._pace = pace
        self._grace_s, self._tracer, self._is_paused = grace_s, tracer, is_paused
        self._environment = os.environ if environment is None else environment
        self._directory = directory or Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / COMPONENT
        self._hosts: list[Host] = []
        self._sleeping: list[Description] = []
        self._waking: dict[str, Informers] = {}
        """The watches of sleeping operators, by name."""
        self._stopping = asyncio.Event()
        self.metrics.watch_informers(self.informers)
        self.metrics.watch_recorder(self.recorder)

    def add(self, name: str, register: Callable[[Setup], None], kinds: Iterable[CustomKind] = ()) -> Setup:
        """Call it before `run`. Names are unique. `kinds` are those that the operator declares: status writes to their
        objects are checked against their types.
        """
        if any(each.setup.name == name for each in self._hosts):
            raise ValueError(f'operator "{name}" is already registered')
        election = self._election(name) if self._leases else None

        def refusal() -> str:
            return "" if election is None or election.is_leading else "this process is not the leader"

        tools = Tools(
            client=self.client, recorder=self.recorder, metrics=self.metrics, tracer=self._tracer, refusal=refusal
        )
        term = Term()
        setup = Setup(
            name,
            self.informers,
            tools=tools,
            controls=term,
            namespace=self._namespace,
            directory=self._directory,
            environment=self._environment,
            kinds=kinds,
        )
        register(setup)
        self._hosts.append(Host(setup, election, term, is_paused=self._is_paused))
        return setup

    def add_sleeping(self, operator: Description) -> None:
        """Call it before `run`. The operator is imported and added when the first object that wakes it exists."""
        self._sleeping.append(operator)

    async def run(self) -> None:
        """Runs until `stop`. Then running work gets its grace period, Events are written and leases are released."""
        async with asyncio.TaskGroup() as tasks:
            sleeping = [tasks.create_task(self._wake(each, tasks)) for each in self._sleeping]
            watching = tasks.create_task(self.informers.run())
            recording = tasks.create_task(self.recorder.run())
            for host in self._hosts:
                tasks.create_task(host.run(), name=host.setup.name)
            await self._stopping.wait()
            for task in sleeping:
                task.cancel()
            await asyncio.gather(*(each.close(self._grace_s) for each in self._hosts))
            watching.cancel()
            # Not cancelled at once, or the Event that is being written would be lost.
            self.recorder.close()
            await asyncio.wait([recording], timeout=_FLUSH_WITHIN_S)
            recording.cancel()

    async def _wake(self, operator: Description, tasks: asyncio.TaskGroup) -> None:
        informers = self._waking[operator.name] = Informers(self._bare, pace=self._pace)
        seen = await first_object(
            self._bare,
            operator.wakes,
            namespace=self._namespace,
            informers=informers,
            if_served=operator.wakes_if_served,
        )
        module = await asyncio.to_thread(operator.load)
        log.info("operator woke", extra={"operator": operator.name, "seen": seen})
        del self._waking[operator.name]
        self.add(operator.name, module.register, module.KINDS)
        tasks.create_task(self._hosts[-1].run(), name=operator.name)

    def stop(self) -> None:
        self._stopping.set()

    @asynccontextmanager
    async def running(self) -> AsyncIterator[Manager]:
        """Runs during the block and is stopped at its end. An error of the block is raised unchanged; an error of the
        manager cancels the block and is raised in an `ExceptionGroup`.
        """
        failure: Exception | None = None
        async with asyncio.TaskGroup() as tasks:
            task = tasks.create_task(self.run())
            try:
                yield self
            except Exception as error:
                failure = error
            finally:
                self.stop()
                await asyncio.wait([task])
        if failure is not None:
            raise failure

    def offered(self, face: str) -> object | None:
        """What an operator of this process offers to the face of this name; None while it is not set up."""
        return next((host.setup.offers[face] for host in self._hosts if face in host.setup.offers), None)

    def states(self) -> list[OperatorState]:
        """The operators of this process, also those that sleep."""
        asleep = [OperatorState(name=name, is_awake=False) for name in self._waking]
        return [*(each.state(self.identity) for each in self._hosts), *asleep]

    def troubles(self) -> list[str]:
        """The reasons why operators do not work; empty if all do."""
        working = [f"{host.setup.name}: {each}" for host in self._hosts for each in host.troubles()]
        return [*working, *(f"{name}: {each}" for name in self._waking for each in self._waking_troubles(name))]

    def _waking_troubles(self, name: str) -> list[str]:
        """Why a sleeping operator would not wake up."""
        reasons = [(each.source.path, watch_trouble(each.watcher)) for each in self._waking[name]]
        return [f"{path}: {reason}" for path, reason in reasons if reason]

    async def plan(self, *, within_s: float = 60.0) -> list[Plan[Any]]:
        """A dry run: the decision for every object, several at a time.

        `TimeoutError` if the caches are not filled `within_s`. The controller limits the time of each plan.
        """
        async with asyncio.TaskGroup() as tasks:
            jobs = [job for host in self._hosts for job in host.setup.reading_jobs]
            reading = [tasks.create_task(_run(job)) for job in jobs]
            watching = tasks.create_task(self.informers.run())
            try:
                async with asyncio.timeout(within_s):
                    await self.informers.synced()

                async def plan(one: tuple[Controller[Any, Any, Any], Any]) -> Plan[Any]:
                    controller, obj = one
                    return await controller.plan(obj)

                controllers = [each for host in self._hosts for each in host.setup.controllers]
                listed = [(each, obj) for each in controllers for obj in each.informer.cache]
                planned = await map_concurrently(plan, listed, at_once=_PLANS_AT_ONCE)
                for _ in range(_PLAN_ROUNDS if reading else 0):
                    # What is read in the background may arrive meanwhile.
                    waiting = [at for at, each in enumerate(planned) if each.wait]
                    if not waiting:
                        break
                    await asyncio.sleep(_PLAN_PAUSE_S)
                    again = await map_concurrently(plan, [listed[at] for at in waiting], at_once=_PLANS_AT_ONCE)
                    for at, found in zip(waiting, again, strict=True):
                        planned[at] = found
                return [*planned, *(unread for each in controllers for unread in each.plan_unreadable())]
            finally:
                for task in (watching, *reading):
                    task.cancel()

    def _election(self, name: str) -> Election:
        lease = f"{COMPONENT}-{name}"
        election = Election(self._bare, self._leases, lease, self.identity, terms=self._terms)
        self.metrics.watch_election(lease, lambda: election.is_leading)
        return election


async def _run(job: Job) -> None:
    await job()

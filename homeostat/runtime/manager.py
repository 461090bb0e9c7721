"""All operators of a process on one server: shared caches, one recorder, one stop.

    manager = Manager(client, leases="homeostat")
    manager.add("greeter", greeter.register, greeter.KINDS)
    await manager.run()

Everything runs in one task group: an error that nobody expected ends all of it, and loudly, since a process that goes
on with half its watches dead is what nobody notices.
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
from homeostat.objects.crd.custom_kind import CustomKind
from homeostat.runtime.cache.informer import Informers
from homeostat.runtime.control.controller import Controller, Plan
from homeostat.runtime.control.reconcile import Tools
from homeostat.runtime.control.recorder import Recorder
from homeostat.runtime.control.writes import Watched
from homeostat.runtime.description import Description
from homeostat.runtime.host import Host, Term
from homeostat.runtime.leader import TERMS, Election, Terms, unique_identity
from homeostat.runtime.setup import Setup
from homeostat.runtime.telemetry.metrics import Metrics
from homeostat.runtime.telemetry.tracing import OFF, Tracer
from homeostat.runtime.waking import first_object
from homeostat.runtime.watch.watcher import Pace

log = logging.getLogger(__name__)

COMPONENT = "homeostat"
_PLANS_AT_ONCE = 32
_FLUSH_WITHIN_S = 5.0


class Manager:
    """Made inside a running event loop. `leases` is the namespace of the Leases, one an operator, so that the operators
    of several processes spread; without it this process leads from the start.
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
    ) -> None:
        self.identity = identity or unique_identity()
        self.metrics = metrics or Metrics()
        self.informers = Informers(client, pace=pace)
        self.client = client.over(lambda transport: Watched(transport, self.informers))
        self.recorder = Recorder(client, COMPONENT, instance=self.identity)
        self._bare, self._namespace, self._leases, self._terms = client, namespace, leases, terms
        self._grace_s, self._tracer = grace_s, tracer
        self._environment = os.environ if environment is None else environment
        self._directory = directory or Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / COMPONENT
        self._hosts: list[Host] = []
        self._sleeping: list[Description] = []
        self._stopping = asyncio.Event()
        self.metrics.watch_informers(self.informers)
        self.metrics.watch_recorder(self.recorder)

    def add(self, name: str, register: Callable[[Setup], None], kinds: Iterable[CustomKind] = ()) -> Setup:
        """Before `run`. Of one name there is one operator. `kinds` are those that it declares: what it writes to the
        status of their objects is held to their types.
        """
        if any(each.setup.name == name for each in self._hosts):
            raise ValueError(f'operator "{name}" is already registered')
        election = self._election(name) if self._leases else None

        def refusal() -> str:
            return "" if election is None or election.is_leading else "this process does not lead"

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
        self._hosts.append(Host(setup, election, term))
        return setup

    def add_sleeping(self, operator: Description) -> None:
        """Before `run`. The operator is imported and added when there is the first object that wakes it."""
        self._sleeping.append(operator)

    async def run(self) -> None:
        """Until `stop`: then running work gets its grace, Events are written and leases given back."""
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
            # Not cancelled at once: that would lose the Event that is being written.
            self.recorder.close()
            await asyncio.wait([recording], timeout=_FLUSH_WITHIN_S)
            recording.cancel()

    async def _wake(self, operator: Description, tasks: asyncio.TaskGroup) -> None:
        seen = await first_object(self._bare, operator.wakes, namespace=self._namespace)
        module = await asyncio.to_thread(operator.load)
        log.info("operator woke", extra={"operator": operator.name, "seen": seen})
        self.add(operator.name, module.register, module.KINDS)
        tasks.create_task(self._hosts[-1].run(), name=operator.name)

    def stop(self) -> None:
        self._stopping.set()

    @asynccontextmanager
    async def running(self) -> AsyncIterator[Manager]:
        """Runs inside the block and is stopped at its end, whatever ends it. The block's own error comes out as it is;
        an error of the manager's comes in an `ExceptionGroup` and cancels the block.
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

    def troubles(self) -> list[str]:
        """Why not everything works yet, or any more; empty when it does."""
        return [f"{host.setup.name}: {each}" for host in self._hosts for each in host.troubles()]

    async def plan(self, *, within_s: float = 60.0) -> list[Plan[Any]]:
        """A dry run: what every object would get now, some of them at a time.

        `TimeoutError` where the caches are not filled `within_s`; how long a plan may take is its controller's to say.
        """
        async with asyncio.TaskGroup() as tasks:
            watching = tasks.create_task(self.informers.run())
            try:
                async with asyncio.timeout(within_s):
                    await self.informers.synced()
                places = asyncio.Semaphore(_PLANS_AT_ONCE)

                async def plan(controller: Controller[Any, Any, Any], obj: Any) -> Plan[Any]:
                    async with places:
                        return await controller.plan(obj)

                controllers = [each for host in self._hosts for each in host.setup.controllers]
                planned = await asyncio.gather(
                    *(plan(each, obj) for each in controllers for obj in each.informer.cache)
                )
                return [*planned, *(unread for each in controllers for unread in each.plan_unreadable())]
            finally:
                watching.cancel()

    def _election(self, name: str) -> Election:
        lease = f"{COMPONENT}-{name}"
        election = Election(self._bare, self._leases, lease, self.identity, terms=self._terms)
        self.metrics.watch_election(lease, lambda: election.is_leading)
        return election

"""Runs an operator inside a process that has other work to do: a manager that fails is restarted, and not the process.

Each operator has its own supervisor, so that the failure of one does not affect the others. An operator that declares
`WAKES` sleeps until such an object exists, or until `wake` is called: until then it is neither imported nor set up. It
does not fall asleep again.

A process that runs only operators (`homeostat run`) exits on a failure instead, and is restarted from outside.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from homeostat.client.base import Client
from homeostat.objects.time.backoff import Backoff
from homeostat.runtime.description import Description
from homeostat.runtime.installation import install_definitions
from homeostat.runtime.presence import has_objects
from homeostat.runtime.telemetry.state import OperatorState
from homeostat.runtime.telemetry.tracing import OFF, Tracer

if TYPE_CHECKING:
    from prometheus_client.metrics_core import Metric

    from homeostat.runtime.manager import Manager
    from homeostat.runtime.setup import OperatorModule, Setup

log = logging.getLogger(__name__)

_BACKOFF = Backoff(first_s=1.0, cap_s=60.0)
_STEADY_S = 600.0


class Supervisor:
    """`manager` is the one that runs now. `leases`, `environment` and `is_paused` are as in `Manager`. `ready` is
    called whenever the operator was set up. With `is_held`, the operator is neither set up nor woken before `begin`:
    until a host serves, its start may fail, and a start that fails must not have acted.
    """

    def __init__(
        self,
        client: Client,
        description: Description,
        *,
        grace_s: float,
        leases: str = "",
        directory: Path | None = None,
        environment: Mapping[str, str] | None = None,
        ready: Callable[[Setup], None] = lambda _: None,
        tracer: Tracer = OFF,
        is_paused: bool = False,
        is_held: bool = False,
        backoff: Backoff = _BACKOFF,
        chance: Callable[[], float] = random.random,
    ) -> None:
        self.manager: Manager | None = None
        self.description = description
        self._client = client
        self._grace_s, self._tracer, self._directory, self._environment = grace_s, tracer, directory, environment
        self._backoff, self._chance, self._leases = backoff, chance, leases
        self._ready, self._is_paused = ready, is_paused
        self._tried, self._begun = asyncio.Event(), asyncio.Event()
        if not is_held:
            self._begun.set()
        self._stopping, self._ended = asyncio.Event(), asyncio.Event()
        self._last_reason = ""
        self._awake = asyncio.Event()
        if not description.wakes:
            self._awake.set()

    @property
    def is_awake(self) -> bool:
        return self._awake.is_set()

    def states(self) -> list[OperatorState]:
        """One state, unless the operator is just being restarted."""
        if self.manager is not None:
            return self.manager.states()
        troubles = (f"restarting after {self._last_reason}",) if self._last_reason and self.is_awake else ()
        return [OperatorState(name=self.description.name, is_awake=self.is_awake, troubles=troubles)]

    def wake(self) -> None:
        """Sets the operator up because of a write that it checks, even if no object exists yet."""
        if not self.is_awake:
            log.info("operator woke", extra={"operator": self.description.name, "seen": "a write that it checks"})
        self._awake.set()

    async def run(self) -> None:
        """Runs until `stop`. First installs the definitions."""
        failures = 0
        loop = asyncio.get_running_loop()
        try:
            while not self._stopping.is_set():
                began = loop.time()
                try:
                    await self._run_once()
                except Exception as error:
                    self._tried.set()
                    failures = 1 if loop.time() - began >= _STEADY_S else failures + 1
                    self._complain(failures, error)
                    await self._pause(self._backoff.delay_s(failures, self._chance()))
        finally:
            self.manager = None
            self._ended.set()

    async def installed(self) -> None:
        """Returns after the first attempt to install the definitions."""
        await self._tried.wait()

    def begin(self) -> None:
        self._begun.set()

    async def stop(self) -> None:
        """Gives running work its grace period. If `run` has not returned by then, the caller cancels it."""
        self._stopping.set()
        self._begun.set()
        if self.manager is not None:
            self.manager.stop()
        with suppress(TimeoutError):
            async with asyncio.timeout(self._grace_s + 1.0):
                await self._ended.wait()

    async def _has_objects(self) -> bool:
        found = self.description
        return await has_objects(self._client, found.wakes, if_served=found.wakes_if_served)

    async def _run_once(self) -> None:
        await install_definitions(self._client, self.description.definitions())
        if not self.is_awake and await self._has_objects():
            self._awake.set()
        self._tried.set()
        await self._begun.wait()
        if self._stopping.is_set() or not await self._woken():
            return
        # The import of a sleeping operator takes some tenths of a second and must not block the event loop.
        manager_type, module = await asyncio.to_thread(self._load) if self.description.wakes else self._load()
        manager = manager_type(
            self._client,
            leases=self._leases,
            grace_s=self._grace_s,
            directory=self._directory,
            environment=self._environment,
            tracer=self._tracer,
            is_paused=self._is_paused,
        )
        self._ready(manager.add(self.description.name, module.register, module.KINDS))
        self.manager = manager
        if not self._stopping.is_set():
            await manager.run()

    def _load(self) -> tuple[type[Manager], OperatorModule]:
        """Imports the operator, and with the first one that is awake also the controller runtime."""
        from homeostat.runtime.manager import Manager

        return Manager, self.description.load()

    async def _woken(self) -> bool:
        """Returns True when the operator is awake, and False when it has to stop."""
        if self.is_awake:
            return True
        waits = [asyncio.ensure_future(each) for each in (self._awake.wait(), self._stopping.wait(), self._see())]
        try:
            done, _ = await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
            for each in done:
                each.result()
        finally:
            for each in waits:
                each.cancel()
        return self.is_awake

    async def _see(self) -> None:
        # Imported when the host serves, and in a thread: a start needs no watches.
        waking = await asyncio.to_thread(import_module, "homeostat.runtime.waking")
        found = self.description
        seen = await waking.first_object(self._client, found.wakes, if_served=found.wakes_if_served)
        log.info("operator woke", extra={"operator": self.description.name, "seen": seen})
        self._awake.set()

    def _complain(self, failures: int, error: Exception) -> None:
        """Logs the traceback once; while the error stays the same, only its text."""
        from homeostat.runtime.control.failure_conditions import sole_error

        cause = sole_error(error)
        reason = f"{type(cause).__name__}: {cause}"
        extra = {"operator": self.description.name, "failures": failures, "reason": reason}
        log.error("operator failed; restarting", extra=extra, exc_info=None if reason == self._last_reason else error)
        self._last_reason = reason

    async def _pause(self, delay_s: float) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(delay_s):
                await self._stopping.wait()


class Figures:
    """The combined metrics of the running managers. `elections` says of further leases whether this process leads."""

    def __init__(
        self, supervisors: Sequence[Supervisor], elections: Mapping[str, Callable[[], bool]] = MappingProxyType({})
    ) -> None:
        self._supervisors, self._elections = supervisors, elections

    def collect(self) -> Iterator[Metric]:
        running = [each.manager.metrics for each in self._supervisors if each.manager is not None]
        if not running and not self._elections:
            return iter(())
        from homeostat.runtime.telemetry.metrics import Metrics

        metrics = Metrics.joined(running)
        for lease, is_leading in self._elections.items():
            metrics.watch_election(lease, is_leading)
        return metrics.collect()

"""One of many leads: an election over a Lease, by the rules of client-go, so that both can stand for the same one.

    election = Election(client, "homeostat", "operators", unique_identity())
    await election.run(manage)

Promises, each with a test of the same name:

- one at most leads at any moment
- a leader that cannot renew steps down before another can lead
- a leader that stops renewing is replaced
- a released lease is taken at the next look
- losing the lease cancels the work
- a lease is not free because its own times are old
- a wall clock that jumps or stands still changes nothing
- a lease that is deleted makes no second leader
- a lease that cannot be had is told with what to do, and again every minute
- a standby tells once who leads, and again when that is another

Whether a lease has run out is judged by this process alone: by how long it has seen no change, on the clock of its
event loop. Clocks of other machines do not matter; a difference in how fast they run does, and the gap between
`renew_s` and `lease_s` is what it may eat up.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
import random
import socket
import uuid
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TypeVar

from homeostat.client.base import Client, UnreachableError
from homeostat.objects.errors import AlreadyExistsError, ApiError, ConflictError, ForbiddenError, NotFoundError
from homeostat.objects.json import JsonObject
from homeostat.objects.kind import LEASE
from homeostat.objects.time.timestamp import format_micro_time

log = logging.getLogger(__name__)

T = TypeVar("T")
_JITTER = 1.2
_TICK = timedelta(microseconds=1)
_TELL_EVERY_S = 60.0


class LeadershipLostError(Exception):
    """The lease could not be renewed in time, or somebody else has it; the work was cancelled."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """A leader tries to renew every `retry_s`, gives up after `renew_s`, and is replaced after `lease_s`."""

    lease_s: int = 15
    renew_s: float = 10.0
    retry_s: float = 2.0

    def __post_init__(self) -> None:
        if not (self.lease_s > self.renew_s > self.retry_s * _JITTER > 0):
            raise ValueError(f"{self}: wants lease_s > renew_s > {_JITTER} * retry_s > 0")


TERMS = Terms()
_process = uuid.uuid4()
_candidates = itertools.count(1)


def unique_identity() -> str:
    """`HOST_PROCESS/NUMBER`: the host, for people, and what no other process has, so that a restart on the same host is
    somebody else; the number tells the candidates of a process apart.
    """
    return f"{socket.gethostname()}_{_process}/{next(_candidates)}"


class Election:
    """One candidate. Made inside a running event loop; `identity` must be no other candidate's."""

    def __init__(
        self,
        client: Client,
        namespace: str,
        name: str,
        identity: str,
        *,
        terms: Terms = TERMS,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
        chance: Callable[[], float] = random.random,
    ) -> None:
        self.identity = identity
        self._client, self._terms, self._now, self._chance = client, terms, now, chance
        self._namespace, self._name = namespace, name
        self._all, self._path = LEASE.path(namespace), LEASE.path(namespace, name)
        self._loop = asyncio.get_running_loop()
        self._lease: JsonObject | None = None
        self._seen_at = self._free_at = 0.0
        self._leads_until = self._warned_at = 0.0
        self._told = datetime.min.replace(tzinfo=UTC)
        self._told_leader = ""
        self.trouble = ""
        """Why the last try to get or to keep the lease failed; empty if it did not."""

    @property
    def is_leading(self) -> bool:
        """False from the very moment at which the term ends, even before anybody was told."""
        return self._loop.time() < self._leads_until

    @property
    def leader(self) -> str:
        """Who had the lease when it was last looked at; empty for nobody."""
        return _holder(self._lease) if self._lease else ""

    async def acquire(self) -> None:
        """Returns as the leader; whoever leads calls `lost` at once, which is what renews."""
        while True:
            await self._attempt()
            if self.is_leading:
                self._told_leader = ""
                log.info("became leader", extra={"lease": self._path, "identity": self.identity})
                return
            self._tell_leader()
            await asyncio.sleep(self._pause_s())

    async def lost(self) -> None:
        """Renews; returns when this candidate leads no more."""
        while self.is_leading:
            try:
                async with asyncio.timeout_at(self._leads_until):
                    await asyncio.sleep(self._terms.retry_s)
                    await self._attempt()
            except TimeoutError:
                continue
        self._leads_until = 0.0
        log.warning("lost leadership", extra={"lease": self._path, "identity": self.identity})

    async def release(self) -> None:
        """Gives the lease back, for a successor not to wait; if that fails it runs out by itself. After the work."""
        self._leads_until = 0.0
        try:
            async with asyncio.timeout(self._terms.retry_s):
                await self._look()
                if self._lease is not None and self.leader == self.identity:
                    self._observe(await self._client.update(self._path, self._freed(self._lease)))
        except (ApiError, UnreachableError, TimeoutError) as error:
            log.warning("failed to release lease", extra={"lease": self._path, "reason": str(error)})

    async def run(self, lead: Callable[[], Awaitable[T]]) -> T:
        """Waits for the lead, then works. `LeadershipLostError` where the work was cut off by a loss.

        Cancelled, it goes on renewing until the work has ended and then releases. What the work raises comes in an
        `ExceptionGroup`.
        """
        term = asyncio.timeout(None)
        try:
            await self.acquire()
            async with asyncio.TaskGroup() as tasks:
                keeping = tasks.create_task(self._keep(term))
                try:
                    async with term:
                        result = await lead()
                except TimeoutError:
                    if not term.expired():
                        raise
                finally:
                    keeping.cancel()
        finally:
            await self.release()
        if term.expired():
            raise LeadershipLostError(f"{self._path}: {self.identity} leads no more")
        return result

    async def _keep(self, term: asyncio.Timeout) -> None:
        await self.lost()
        term.reschedule(self._loop.time())

    async def _attempt(self) -> None:
        """One try to get or to keep the lease; its failure is no news while there is time for another."""
        try:
            # A request that hangs must leave time for a second one.
            async with asyncio.timeout(self._terms.renew_s / 2):
                await self._claim()
        except (ApiError, UnreachableError, TimeoutError) as error:
            self._tell(str(error) or "no answer", _remedy(error, self._namespace))
        else:
            self.trouble = ""

    def _tell_leader(self) -> None:
        """Who leads as long as nobody else does; a lease that is free for a moment is no news."""
        if self.leader and self.leader != self._told_leader:
            self._told_leader = self.leader
            told = {"leader": self.leader, "lease": self._path, "identity": self.identity}
            log.info("standing by: another replica is the leader", extra=told)

    def _tell(self, reason: str, remedy: str) -> None:
        now = self._loop.time()
        if not self.trouble or now >= self._warned_at + _TELL_EVERY_S:
            self._warned_at = now
            told = {"lease": self._path, "reason": reason, "remedy": remedy}
            log.warning("failed to acquire lease; retrying", extra=told)
        self.trouble = f"{self._path}: {reason}; {remedy}"

    async def _claim(self) -> None:
        # The term counts from before the request: nobody can have seen the renewal earlier.
        started = self._loop.time()
        if not self.is_leading:
            await self._look()
        try:
            if self._lease is None:
                if started < self._free_at:
                    return
                lease = await self._client.create(self._all, {"metadata": {"name": self._name}, "spec": self._spec({})})
            elif self._is_free(self._lease):
                spec = self._spec(self._lease.get("spec") or {})
                lease = await self._client.update(self._path, {**self._lease, "spec": spec})
            else:
                return
        except ApiError as error:
            # Not conflicts alone: what servers say to an update of what was deleted is of many kinds.
            await self._look()
            if self.leader != self.identity:
                self._leads_until = 0.0
            if isinstance(error, ConflictError | AlreadyExistsError):
                return
            raise
        self._observe(lease)
        self._leads_until = started + self._terms.renew_s

    async def _look(self) -> None:
        try:
            self._observe(await self._client.get(self._path))
        except NotFoundError:
            if self._lease is not None and not self.is_leading:
                # Whoever deleted it did not ask its holder, and that one leads on until its next renewal.
                self._free_at = self._loop.time() + self._terms.lease_s
            self._lease = None

    def _observe(self, lease: JsonObject) -> None:
        # A label that somebody sets is no renewal: only the spec tells that the holder is alive.
        if self._lease is None or self._lease.get("spec") != lease.get("spec"):
            self._seen_at = self._loop.time()
        self._lease = lease

    def _is_free(self, lease: JsonObject) -> bool:
        return _holder(lease) in {"", self.identity} or self._loop.time() >= self._runs_out_at(lease)

    def _runs_out_at(self, lease: JsonObject) -> float:
        lease_s: int = (lease.get("spec") or {}).get("leaseDurationSeconds") or self._terms.lease_s
        return self._seen_at + lease_s

    def _pause_s(self) -> float:
        """Until the next look: spread, for candidates not to come together, but no later than the lease runs out."""
        pause_s = self._terms.retry_s * (1.0 + _JITTER * self._chance())
        left_s = self._runs_out_at(self._lease) - self._loop.time() if self._lease else 0.0
        return min(pause_s, left_s) if left_s > 0 else pause_s

    def _moment(self) -> str:
        # Later each time, though clocks stand still and go back: a renewal that looks like one before is not seen.
        self._told = max(self._now(), self._told + _TICK)
        return format_micro_time(self._told)

    def _spec(self, old: JsonObject) -> JsonObject:
        now = self._moment()
        spec = {**old, "holderIdentity": self.identity, "leaseDurationSeconds": self._terms.lease_s, "renewTime": now}
        if old.get("holderIdentity") != self.identity:
            spec["acquireTime"] = now
            spec["leaseTransitions"] = old.get("leaseTransitions", 0) + 1 if old else 0
        return spec

    def _freed(self, lease: JsonObject) -> JsonObject:
        spec = {**lease["spec"], "leaseDurationSeconds": 1, "renewTime": self._moment()}
        del spec["holderIdentity"]
        return {**lease, "spec": spec}


def _holder(lease: JsonObject) -> str:
    found: str = (lease.get("spec") or {}).get("holderIdentity") or ""
    return found


def _remedy(error: Exception, namespace: str) -> str:
    match error:
        case NotFoundError():
            return f'create the namespace "{namespace}", or choose another for the leases (--lease-namespace)'
        case ForbiddenError():
            return (
                f'allow get, create and update of leases.coordination.k8s.io in the namespace "{namespace}", '
                "or choose another where this account may (--lease-namespace)"
            )
        case _:
            return "see that the server answers"

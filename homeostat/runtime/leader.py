"""Leader election with a Lease, by the rules of client-go, so that candidates of both can share a Lease.

    election = Election(client, "homeostat", "operators", unique_identity())
    await election.run(manage)

Promises, each with a test of the same name:

- there is at most one leader at any moment
- a leader that cannot renew steps down before another can lead
- a leader that stops renewing is replaced
- a released lease is acquired at the next attempt
- losing the lease cancels the work
- a lease does not expire because its own timestamps are old
- a wall clock that jumps or stands still changes nothing
- a deleted lease does not lead to a second leader
- a failure to acquire the lease is logged with a remedy, and again every minute
- a standby logs the leader once, and again when the leader changes

Each process decides by itself whether a lease has expired: it measures with the clock of its event loop for how long
the lease has not changed. The clocks of other machines do not matter. If they run at different speeds, the gap between
`renew_s` and `lease_s` is the tolerance.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
import random
import socket
import uuid
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import TypeVar

import msgspec

from homeostat.client.base import Client, UnreachableError
from homeostat.objects.errors import AlreadyExistsError, ApiError, ConflictError, ForbiddenError, NotFoundError
from homeostat.objects.json import JsonObject
from homeostat.objects.kind import LEASE
from homeostat.objects.time.timestamp import format_micro_time

log = logging.getLogger(__name__)

T = TypeVar("T")
_JITTER = 1.2
_TICK = timedelta(microseconds=1)
_LOG_EVERY_S = 60.0


class LeadershipLostError(Exception):
    """The lease was not renewed in time, or another candidate holds it. The work was cancelled."""


class Terms(msgspec.Struct, frozen=True, kw_only=True):
    """A leader tries to renew every `retry_s`, gives up after `renew_s`, and is replaced after `lease_s`."""

    lease_s: int = 15
    renew_s: float = 10.0
    retry_s: float = 2.0

    def __post_init__(self) -> None:
        if not (self.lease_s > self.renew_s > self.retry_s * _JITTER > 0):
            raise ValueError(f"{self}: wants lease_s > renew_s > {_JITTER} * retry_s > 0")


TERMS = Terms()
_candidates = itertools.count(1)


@cache
def _process() -> uuid.UUID:
    """Chosen when it is first needed and not on import: a forked process is another one."""
    return uuid.uuid4()


def unique_identity() -> str:
    """`HOST_PROCESS/NUMBER`: the host name, and a part that is unique to the process, so that a restarted process has a
    new identity. The number distinguishes the candidates of one process.
    """
    return f"{socket.gethostname()}_{_process()}/{next(_candidates)}"


class Election:
    """One candidate. Create it inside a running event loop, with an `identity` of its own."""

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
        self._renewed_at = datetime.min.replace(tzinfo=UTC)
        self._logged_leader = ""
        self.trouble = ""
        """Why the last attempt to acquire or renew the lease failed; empty if it succeeded."""

    @property
    def is_leading(self) -> bool:
        """False from the moment at which the term ends, even before the work is cancelled."""
        return self._loop.time() < self._leads_until

    @property
    def leader(self) -> str:
        """The holder of the lease at the last attempt; empty for none."""
        return _holder(self._lease) if self._lease else ""

    async def acquire(self) -> None:
        """Returns when this candidate is the leader. The leader then has to await `lost`, which renews the lease."""
        while True:
            await self._attempt()
            if self.is_leading:
                self._logged_leader = ""
                log.info("became leader", extra={"lease": self._path, "identity": self.identity})
                return
            self._log_leader()
            await asyncio.sleep(self._pause_s())

    async def lost(self) -> None:
        """Renews the lease; returns when this candidate is no longer the leader."""
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
        """Releases the lease after the work, so that a successor need not wait. If that fails, the lease expires."""
        self._leads_until = 0.0
        try:
            async with asyncio.timeout(self._terms.retry_s):
                await self._read_lease()
                if self._lease is not None and self.leader == self.identity:
                    self._observe(await self._client.update(self._path, self._freed(self._lease)))
        except (ApiError, UnreachableError, TimeoutError) as error:
            log.warning("failed to release lease", extra={"lease": self._path, "reason": str(error)})

    async def run(self, lead: Callable[[], Awaitable[T]]) -> T:
        """Waits for leadership, then runs the work. `LeadershipLostError` if the lease was lost and the work cancelled.

        If it is cancelled, it keeps renewing until the work has ended and then releases the lease. Errors of the work
        are raised in an `ExceptionGroup`.
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
            raise LeadershipLostError(f"{self._path}: {self.identity} is no longer the leader")
        return result

    async def _keep(self, term: asyncio.Timeout) -> None:
        await self.lost()
        term.reschedule(self._loop.time())

    async def _attempt(self) -> None:
        """One attempt to acquire or renew the lease. A failure is logged at most once a minute."""
        try:
            # A request that hangs must leave time for a second attempt.
            async with asyncio.timeout(self._terms.renew_s / 2):
                await self._claim()
        except (ApiError, UnreachableError, TimeoutError) as error:
            self._log_failure(str(error) or "no answer", _remedy(error, self._namespace))
        else:
            self.trouble = ""

    def _log_leader(self) -> None:
        """Logs a change of the leader. A lease that is free for a moment is not a change."""
        if self.leader and self.leader != self._logged_leader:
            self._logged_leader = self.leader
            fields = {"leader": self.leader, "lease": self._path, "identity": self.identity}
            log.info("standing by: another replica is the leader", extra=fields)

    def _log_failure(self, reason: str, remedy: str) -> None:
        now = self._loop.time()
        if not self.trouble or now >= self._warned_at + _LOG_EVERY_S:
            self._warned_at = now
            fields = {"lease": self._path, "reason": reason, "remedy": remedy}
            log.warning("failed to acquire lease; retrying", extra=fields)
        self.trouble = f"{self._path}: {reason}; {remedy}"

    async def _claim(self) -> None:
        # The term starts before the request, because no other candidate can have seen the renewal earlier.
        started = self._loop.time()
        if not self.is_leading:
            await self._read_lease()
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
            # Not only conflicts: servers answer an update of a deleted object with different errors.
            await self._read_lease()
            if self.leader != self.identity:
                self._leads_until = 0.0
            if isinstance(error, ConflictError | AlreadyExistsError):
                return
            raise
        self._observe(lease)
        self._leads_until = started + self._terms.renew_s

    async def _read_lease(self) -> None:
        try:
            self._observe(await self._client.get(self._path))
        except NotFoundError:
            if self._lease is not None and not self.is_leading:
                # The holder does not know that the lease was deleted, and leads until its next renewal.
                self._free_at = self._loop.time() + self._terms.lease_s
            self._lease = None

    def _observe(self, lease: JsonObject) -> None:
        # A changed label is not a renewal: only a changed spec shows that the holder is alive.
        if self._lease is None or self._lease.get("spec") != lease.get("spec"):
            self._seen_at = self._loop.time()
        self._lease = lease

    def _is_free(self, lease: JsonObject) -> bool:
        return _holder(lease) in {"", self.identity} or self._loop.time() >= self._runs_out_at(lease)

    def _runs_out_at(self, lease: JsonObject) -> float:
        lease_s: int = (lease.get("spec") or {}).get("leaseDurationSeconds") or self._terms.lease_s
        return self._seen_at + lease_s

    def _pause_s(self) -> float:
        """The delay until the next attempt, with jitter, but no later than the lease expires."""
        pause_s = self._terms.retry_s * (1.0 + _JITTER * self._chance())
        left_s = self._runs_out_at(self._lease) - self._loop.time() if self._lease else 0.0
        return min(pause_s, left_s) if left_s > 0 else pause_s

    def _moment(self) -> str:
        # Always increasing, even if the clock stands still or goes back: other candidates must see a change.
        self._renewed_at = max(self._now(), self._renewed_at + _TICK)
        return format_micro_time(self._renewed_at)

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
            return "check that the server answers"

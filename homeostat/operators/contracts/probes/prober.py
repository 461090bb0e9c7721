"""Probes endpoints in the background, and keeps the last result of each.

    outcomes = prober.outcomes(owner, generation, urls, max_age_s=300.0)

Promises, each with a test: a reconciliation never waits for an endpoint; one host gets few requests at a time, however
many contracts name it; a result counts for one generation of its owner only; an owner is enqueued when the verdict on
an endpoint changes, and not when only its latency does; an endpoint that fails is probed again sooner; after a
start, the stored results of an owner count until the first answer.
"""

from __future__ import annotations

import asyncio
import math
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Final
from urllib.parse import urlsplit

import msgspec

from homeostat.operators.contracts.engine.checks.endpoint import Outcome
from homeostat.runtime.control.queue import WorkQueue
from homeostat.runtime.control.workers import Workers

WORKERS: Final = 32
AT_ONCE_PER_HOST: Final = 2
_RETRY_FAILED_S: Final = 30.0
_EARLY: Final = 0.9
_FIRST_ERROR: Final = 400

Owner = tuple[str, str]
Send = Callable[[str], Awaitable[Outcome]]


class _Result(msgspec.Struct):
    """The newest result of an endpoint; none yet while `outcome` is None."""

    generation: int
    outcome: Outcome | None = None
    at: float = 0.0
    failures: int = 0
    """In a row."""
    is_requested: bool = False

    def life_s(self, max_age_s: float) -> float:
        """How long the result counts. A little less than the interval, or it would be due right after each one."""
        return min(max_age_s * _EARLY, _RETRY_FAILED_S * 2 ** (self.failures - 1) if self.failures else max_age_s)

    def due_in_s(self, max_age_s: float, now: float) -> float:
        life_s = self.life_s(max_age_s)
        if self.is_requested:
            return life_s
        return 0.0 if self.outcome is None else self.at + life_s - now


class Prober:
    """`on_change` gets the owner of an endpoint whose verdict changed."""

    def __init__(self, send: Send, on_change: Callable[[Owner], None], seconds: Callable[[], float]) -> None:
        self._send, self._on_change, self._seconds = send, on_change, seconds
        self._results: dict[Owner, dict[str, _Result]] = {}
        self._waiting: dict[str, set[tuple[Owner, str]]] = defaultdict(set)
        """By host: the endpoints to probe."""
        self._queue: WorkQueue[str] | None = None
        self.sent = 0

    def knows(self, owner: Owner) -> bool:
        return owner in self._results

    def outcomes(
        self,
        owner: Owner,
        generation: int,
        urls: Iterable[str],
        *,
        max_age_s: float,
        before: Mapping[str, Outcome] | None = None,
    ) -> dict[str, Outcome]:
        """The results that are known; those that are missing or too old are requested, and those of `before`, too."""
        held, now = self._results.get(owner, {}), self._seconds()
        kept: dict[str, _Result] = {}
        for url in urls:
            result = held.get(url)
            if result is None or result.generation != generation:
                result = _Result(generation, None if before is None else before.get(url), at=-math.inf)
            kept[url] = result
            if not result.is_requested and result.due_in_s(max_age_s, now) <= 0:
                self._request(owner, url, result)
        if kept:
            self._results[owner] = kept
        else:
            self._results.pop(owner, None)
        return {url: each.outcome for url, each in kept.items() if each.outcome is not None}

    def due_in_s(self, owner: Owner, max_age_s: float) -> float | None:
        """When the first result of an owner expires; None for an owner without endpoints."""
        now = self._seconds()
        return min((each.due_in_s(max_age_s, now) for each in self._results.get(owner, {}).values()), default=None)

    def forget(self, owner: Owner) -> None:
        self._results.pop(owner, None)

    async def run(self) -> None:
        self._queue = WorkQueue()
        for host in list(self._waiting):
            self._queue.add(host)
        try:
            await Workers(self._queue, self._probe_host, name="endpoint probes", count=WORKERS).run()
        finally:
            self._queue.close()
            self._queue = None
            self._waiting.clear()
            self._results.clear()

    def _request(self, owner: Owner, url: str, result: _Result) -> None:
        result.is_requested = True
        host = urlsplit(url).hostname or ""
        self._waiting[host].add((owner, url))
        if self._queue is not None:
            self._queue.add(host)

    async def _probe_host(self, host: str) -> None:
        waiting = self._waiting.pop(host, set())
        owners: dict[str, list[Owner]] = defaultdict(list)
        for owner, url in waiting:
            owners[url].append(owner)
        urls = sorted(owners)
        for start in range(0, len(urls), AT_ONCE_PER_HOST):
            async with asyncio.TaskGroup() as tasks:
                for url in urls[start : start + AT_ONCE_PER_HOST]:
                    tasks.create_task(self._probe(url, owners[url]))

    async def _probe(self, url: str, owners: list[Owner]) -> None:
        """One request serves all owners of the endpoint, each in the generation that requested it."""
        asked = {owner: result for owner in owners if (result := self._results.get(owner, {}).get(url)) is not None}
        try:
            outcome = await self._send(url)
        finally:
            for result in asked.values():
                result.is_requested = False
        self.sent += 1
        for owner, result in asked.items():
            if self._results.get(owner, {}).get(url) is not result:
                continue
            is_changed = result.outcome is None or _verdict(result.outcome) != _verdict(outcome)
            result.outcome, result.at = outcome, self._seconds()
            result.failures = 0 if outcome.is_reachable and outcome.status_code < _FIRST_ERROR else result.failures + 1
            if is_changed:
                self._on_change(owner)


def _verdict(outcome: Outcome) -> tuple[int, bool, bool, bytes]:
    """All that a verdict is made of, whichever endpoint it is about."""
    return outcome.status_code, outcome.has_body, outcome.is_reachable, outcome.document

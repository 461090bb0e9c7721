"""Asks the Pods and workloads of one namespace what a policy wants to know of them: only what changed since.

The Pods come from the cache of their projection. A policy with rules of its own asks the whole Pod, which nobody keeps
in memory: then the Pods that changed are fetched, or all of a namespace page by page the first time. However many are
to be asked, others run in between.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable
from datetime import datetime

import msgspec

from homeostat.client.base import Client
from homeostat.objects.errors import NotFoundError
from homeostat.objects.json import JsonObject
from homeostat.objects.kind import POD
from homeostat.objects.views.pod import Pod
from homeostat.operators.policy.enforcement.plan import plan_of
from homeostat.operators.policy.engine.evaluator import Evaluator
from homeostat.operators.policy.engine.namespaces import is_system
from homeostat.operators.policy.live.results import Page
from homeostat.operators.policy.live.workloads import WorkloadCache
from homeostat.operators.policy.metrics import Series
from homeostat.runtime.cache.cache import Cache

_YIELD_EVERY = 500
_LONGEST_TURN_S = 0.01
"""Where an answer may cost anything, as that of a rule or of many budgets: time counts, and not how many."""
_PAGE = 250
_MOST_FETCHED = 50
"""With more Pods to fetch than these, the namespace is listed."""


class PolicyEvaluation:
    def __init__(self, client: Client, pods: Cache[Pod], *, series: Series, workload_cache: WorkloadCache) -> None:
        self._client, self._pods = client, pods
        self._series, self._workload_cache = series, workload_cache

    async def refresh(self, page: Page, namespace: str, evaluator: Evaluator, now: datetime) -> None:
        """Asks again what changed, what is due, and the first time everything."""
        if is_system(namespace):
            page.is_whole = True
            return
        at = now.timestamp()
        for key in page.tally.due(at):
            (page.workloads if _is_workload(key) else page.dirty).add(key)
        if page.dirty or not page.is_whole:
            ask = self._ask_bodies if evaluator.needs_body else self._ask
            await ask(page, namespace, evaluator, at)
        if evaluator.needs_workloads and (page.workloads or not page.are_workloads_whole):
            await self._ask_workloads(page, namespace, evaluator, at)

    async def _ask(self, page: Page, namespace: str, evaluator: Evaluator, at: float) -> None:
        if not page.is_whole:
            page.dirty.update(each.name for each in self._pods.in_namespace(namespace))
            page.is_whole = True
        count = 0
        while page.dirty:
            name = page.dirty.pop()
            pod = self._pods.readable(namespace, name)
            if pod is None:
                page.remove(name)
                continue
            self._take(page, pod, evaluator, at)
            count += 1
            if count % _YIELD_EVERY == 0:
                await asyncio.sleep(0)
        # An emptied set keeps the room of all it ever held.
        page.dirty = set()

    async def _ask_bodies(self, page: Page, namespace: str, evaluator: Evaluator, at: float) -> None:
        # Taken away before the first wait: what changes meanwhile is noted anew.
        noted, page.dirty = page.dirty, set()
        missing = set(noted)
        if page.is_whole and len(noted) <= _MOST_FETCHED:
            bodies = self._fetched(namespace, noted)
        else:
            missing.update(each for each in page.tally.keys() if not _is_workload(each))  # noqa: SIM118
            bodies = self._listed(namespace)
        turn = _Turn()
        try:
            async for body in bodies:
                pod = _pod_of(body)
                if pod is None:
                    continue
                missing.discard(pod.name)
                self._take(page, pod, evaluator, at, body)
                await turn.pause()
        except BaseException:
            page.dirty |= noted
            raise
        for name in missing:
            page.remove(name)
        page.is_whole = True

    async def _fetched(self, namespace: str, names: Iterable[str]) -> AsyncIterator[JsonObject]:
        for name in sorted(names):
            try:
                yield await self._client.get(POD.path(namespace, name))
            except NotFoundError:
                continue

    async def _listed(self, namespace: str) -> AsyncIterator[JsonObject]:
        token = ""
        while True:
            page = await self._client.request("GET", POD.path(namespace), {"limit": _PAGE, "continue": token})
            for each in page["items"]:
                yield {"apiVersion": "v1", "kind": "Pod", **each}
            token = page["metadata"].get("continue", "")
            if not token:
                return

    def _take(self, page: Page, pod: Pod, evaluator: Evaluator, at: float, body: JsonObject | None = None) -> None:
        result = evaluator.evaluate(pod, now=at, body=body)
        self._series.pods_scanned += 1
        if evaluator.spec.is_enforced:
            planned = plan_of(pod, evaluator, now=at, deployments=self._workload_cache.deployments(pod))
            page.plans.put(pod.name, planned.plan)
            if planned.until < result.recheck_at:
                result = msgspec.structs.replace(result, recheck_at=planned.until)
        page.put(pod.name, result)

    async def _ask_workloads(self, page: Page, namespace: str, evaluator: Evaluator, at: float) -> None:
        """Those that changed; all of them where a budget did, which concerns any."""
        if not page.are_workloads_whole:
            page.are_workloads_whole = True
            page.workloads.update(each.key for each in self._workload_cache.workloads(namespace))
            page.workloads.update(filter(_is_workload, page.tally.keys()))
        budgets = self._workload_cache.budgets(namespace)
        turn = _Turn()
        while page.workloads:
            key = page.workloads.pop()
            workload = self._workload_cache.workload(key)
            if workload is None:
                page.remove(key)
            else:
                page.put(key, evaluator.evaluate_workload(workload, budgets, now=at))
            await turn.pause()
        page.workloads = set()


class _Turn:
    """Lets others run when its time is up."""

    def __init__(self) -> None:
        self._clock = asyncio.get_running_loop().time
        self._until = self._clock() + _LONGEST_TURN_S

    async def pause(self) -> None:
        if self._clock() >= self._until:
            await asyncio.sleep(0)
            self._until = self._clock() + _LONGEST_TURN_S


def _pod_of(body: JsonObject) -> Pod | None:
    """None for what does not fit the projection: the cache leaves it out and says so."""
    try:
        return msgspec.convert(body, Pod)
    except msgspec.ValidationError:
        return None


def _is_workload(key: str) -> bool:
    return "/" in key

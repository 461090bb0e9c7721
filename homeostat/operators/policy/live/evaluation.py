"""Evaluates the Pods and workloads of one namespace that changed since the last reconciliation.

Pods come from the cache, which holds only the fields that built-in checks read. A policy with CEL rules needs whole
Pods: changed Pods are fetched from the server, and the first time all Pods of the namespace, page by results. Long
evaluations yield to the event loop, and rules that cost much run in a thread.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from datetime import datetime

import msgspec

from homeostat.cel import Budget
from homeostat.client.base import Client
from homeostat.edge.threads import in_thread
from homeostat.edge.turn import Turn
from homeostat.objects.errors import NotFoundError
from homeostat.objects.json import JsonObject
from homeostat.objects.kind import POD
from homeostat.objects.views.pod import Pod
from homeostat.operators.policy.enforcement.plan import plan_of
from homeostat.operators.policy.engine.evaluator import Evaluator, Result
from homeostat.operators.policy.engine.namespaces import is_system
from homeostat.operators.policy.live.results import NamespaceResults
from homeostat.operators.policy.live.workloads import WorkloadCache
from homeostat.operators.policy.metrics import Series
from homeostat.runtime.cache.cache import Cache

"""CEL rules, exemptions and budgets take an unknown time, so evaluations yield by time and not by count."""
_QUICK_COST = 20_000
"""What the rules of a policy may cost for a Pod on the event loop: some milliseconds."""
_PAGE = 250
_MOST_FETCHED = 50
"""If there are more Pods to fetch, the namespace is listed instead."""


class PolicyEvaluation:
    def __init__(self, client: Client, pods: Cache[Pod], *, series: Series, workload_cache: WorkloadCache) -> None:
        self._client, self._pods = client, pods
        self._series, self._workload_cache = series, workload_cache

    async def refresh(self, results: NamespaceResults, namespace: str, evaluator: Evaluator, now: datetime) -> None:
        """Evaluates what changed and what is due; everything the first time."""
        if is_system(namespace):
            results.is_complete = True
            return
        at = now.timestamp()
        for key in results.running.due(at):
            (results.workloads if _is_workload(key) else results.dirty).add(key)
        if results.dirty or not results.is_complete:
            evaluate = self._evaluate_bodies if evaluator.needs_body else self._evaluate_cached
            await evaluate(results, namespace, evaluator, at)
        if evaluator.needs_workloads and (results.workloads or not results.are_workloads_complete):
            await self._evaluate_workloads(results, namespace, evaluator, at)

    async def _evaluate_cached(
        self, results: NamespaceResults, namespace: str, evaluator: Evaluator, at: float
    ) -> None:
        if not results.is_complete:
            results.dirty.update(each.name for each in self._pods.in_namespace(namespace))
            results.is_complete = True
        turn = Turn()
        while results.dirty:
            name = results.dirty.pop()
            pod = self._pods.readable(namespace, name)
            if pod is None:
                results.remove(name)
                continue
            self._put(results, pod, evaluator, at, evaluator.evaluate(pod, now=at))
            await turn.pause()
        # An emptied set keeps its memory.
        results.dirty = set()

    async def _evaluate_bodies(
        self, results: NamespaceResults, namespace: str, evaluator: Evaluator, at: float
    ) -> None:
        # Replaced before the first await: changes during the evaluation are marked in the new set.
        marked, results.dirty = results.dirty, set()
        missing = set(marked)
        if results.is_complete and len(marked) <= _MOST_FETCHED:
            bodies = self._fetched(namespace, marked)
        else:
            missing.update(each for each in results.running.keys() if not _is_workload(each))  # noqa: SIM118
            bodies = self._listed(namespace)
        turn = Turn()
        try:
            async for body in bodies:
                pod = _pod_of(body)
                if pod is None:
                    continue
                missing.discard(pod.name)
                self._put(results, pod, evaluator, at, await evaluate_body(pod, evaluator, at, body))
                await turn.pause()
        except BaseException:
            results.dirty |= marked
            raise
        for name in missing:
            results.remove(name)
        results.is_complete = True

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

    def _put(self, results: NamespaceResults, pod: Pod, evaluator: Evaluator, at: float, result: Result) -> None:
        self._series.pods_scanned += 1
        if evaluator.spec.is_enforced:
            planned = plan_of(pod, evaluator, now=at, deployments=self._workload_cache.deployments(pod))
            results.plans.put(pod.name, planned.plan)
            if planned.until < result.recheck_at:
                result = msgspec.structs.replace(result, recheck_at=planned.until)
        results.put(pod.name, result)

    async def _evaluate_workloads(
        self, results: NamespaceResults, namespace: str, evaluator: Evaluator, at: float
    ) -> None:
        """Evaluates changed workloads; all of them if a budget changed."""
        if not results.are_workloads_complete:
            results.are_workloads_complete = True
            results.workloads.update(each.key for each in self._workload_cache.workloads(namespace))
            results.workloads.update(filter(_is_workload, results.running.keys()))
        budgets = self._workload_cache.budgets(namespace)
        turn = Turn()
        while results.workloads:
            key = results.workloads.pop()
            workload = self._workload_cache.workload(key)
            if workload is None:
                results.remove(key)
            else:
                results.put(key, evaluator.evaluate_workload(workload, budgets, now=at))
            await turn.pause()
        results.workloads = set()


async def evaluate_body(pod: Pod, evaluator: Evaluator, at: float, body: JsonObject) -> Result:
    quick = Budget(_QUICK_COST)
    result = evaluator.evaluate(pod, now=at, body=body, budget=quick)
    if quick.remaining > 0:
        return result
    user = f"policies of {pod.metadata.namespace}"
    return await in_thread(lambda: evaluator.evaluate(pod, now=at, body=body), user=user)


def _pod_of(body: JsonObject) -> Pod | None:
    """None if the Pod is unreadable; the cache reports that."""
    try:
        return msgspec.convert(body, Pod)
    except msgspec.ValidationError:
        return None


def _is_workload(key: str) -> bool:
    return "/" in key

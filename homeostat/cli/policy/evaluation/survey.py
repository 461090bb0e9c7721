"""Evaluates the Pods of a live cluster once, page by page, without a watch and without changes.

Only the fields that checks read are decoded, unless a policy has CEL rules. Workloads and budgets are listed only if a
policy checks them.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence

import msgspec

from homeostat.client.base import Client
from homeostat.client.projection import Page, Projection
from homeostat.client.requests import Selection
from homeostat.objects.json import JsonObject
from homeostat.objects.kind import DISRUPTION_BUDGET, POD
from homeostat.objects.report.report import Entry, Summary
from homeostat.objects.views.pod import Pod
from homeostat.objects.views.workload import DisruptionBudget
from homeostat.operators.policy.document import PolicyDocument
from homeostat.operators.policy.engine.inspection import score_line
from homeostat.operators.policy.engine.totals import RunningTotals, Totals
from homeostat.operators.policy.live.workloads import CHECKED_WORKLOADS

_PAGE = 500


class Survey(msgspec.Struct, frozen=True):
    """The result of one policy for one cluster."""

    cluster: str
    policy: str
    line: Summary
    totals: Totals
    entries: tuple[Entry, ...] = ()


class _Evaluation:
    """One policy and its results so far, by namespace and name."""

    def __init__(self, policy: PolicyDocument, now: float) -> None:
        self._policy, self._now, self._running = policy, now, RunningTotals()

    def pod(self, pod: Pod, body: JsonObject | None) -> None:
        result = self._policy.evaluator.evaluate(pod, now=self._now, body=body)
        self._running.put(f"{pod.metadata.namespace}/Pod/{pod.name}", result)

    async def workloads(self, client: Client, namespace: str) -> None:
        selection = Selection(namespace)
        budgets: dict[str, list[DisruptionBudget]] = {}
        async for budget in Projection(client, DISRUPTION_BUDGET, DisruptionBudget).list(selection):
            budgets.setdefault(budget.metadata.namespace, []).append(budget)
        for kind, shape in CHECKED_WORKLOADS:
            async for workload in Projection(client, kind, shape).list(selection):
                own = workload.metadata.namespace
                result = self._policy.evaluator.evaluate_workload(workload, tuple(budgets.get(own, ())), now=self._now)
                self._running.put(f"{own}/{kind.kind}/{workload.metadata.name}", result)

    def survey(self, cluster: str, limit: int) -> Survey:
        totals = self._running.totals()
        line = score_line(cluster, self._policy.evaluator, totals)
        return Survey(cluster, self._policy.title, line, totals, tuple(self._entries(limit)))

    def _entries(self, limit: int) -> list[Entry]:
        found = []
        for key, finding in self._running.findings(limit):
            namespace, kind, name = key.split("/", 2)
            check = finding.check
            found.append(
                Entry(
                    origin=self._policy.title,
                    kind=kind,
                    namespace=namespace,
                    name=name,
                    type=check.type,
                    severity=check.severity,
                    message=finding.message,
                    part=finding.container,
                )
            )
        return found


async def survey_cluster(
    client: Client,
    policies: Sequence[PolicyDocument],
    *,
    cluster: str,
    namespace: str,
    now: float,
    limit: int,
    on_pods: Callable[[int], None],
) -> list[Survey]:
    """A survey for each policy, with at most `limit` violations. `on_pods` is called with the size of each page."""
    evaluations = [_Evaluation(each, now) for each in policies]
    is_whole = any(each.evaluator.needs_body for each in policies)
    async for page in _bodies(client, namespace) if is_whole else _projected(client, namespace):
        for pod, body in page:
            for evaluation in evaluations:
                evaluation.pod(pod, body)
        on_pods(len(page))
    for policy, evaluation in zip(policies, evaluations, strict=True):
        if policy.evaluator.needs_workloads:
            await evaluation.workloads(client, namespace)
    return [each.survey(cluster, limit) for each in evaluations]


_Seen = list[tuple[Pod, JsonObject | None]]


async def _projected(client: Client, namespace: str) -> AsyncIterator[_Seen]:
    page: Page[Pod]
    async for page in Projection(client, POD, Pod).pages(Selection(namespace), limit=_PAGE):
        yield [(pod, None) for pod in page.items]


async def _bodies(client: Client, namespace: str) -> AsyncIterator[_Seen]:
    token = ""
    while True:
        page = await client.request("GET", POD.path(namespace), {"limit": _PAGE, "continue": token})
        bodies = [{"apiVersion": "v1", "kind": "Pod", **each} for each in page["items"]]
        yield [(msgspec.convert(each, Pod), each) for each in bodies]
        token = page["metadata"].get("continue", "")
        if not token:
            return

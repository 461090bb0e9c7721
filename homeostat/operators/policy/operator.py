"""What `DevOpsPolicy` and `ClusterDevOpsPolicy` are reconciled with, and when."""

from __future__ import annotations

import logging

from homeostat.objects.decision import Decision
from homeostat.objects.kind import NAMESPACE, POD
from homeostat.objects.views.pod import Pod
from homeostat.operators.policy.access import DASHBOARD_RULES
from homeostat.operators.policy.act import Actor
from homeostat.operators.policy.api import (
    CLUSTER_DEVOPS_POLICY,
    DEVOPS_POLICY,
    FINALIZER,
    KINDS,
    POLICY_AUDIT_RESULT,
    ClusterDevOpsPolicy,
    DevOpsPolicy,
    Policy,
    PolicyAuditResult,
)
from homeostat.operators.policy.decide import Action, decide
from homeostat.operators.policy.live.changes import ChangeRouter
from homeostat.operators.policy.live.evaluation import PolicyEvaluation
from homeostat.operators.policy.live.pod_health import PodHealth
from homeostat.operators.policy.live.results import ResultsByPolicy
from homeostat.operators.policy.live.workloads import WorkloadCache
from homeostat.operators.policy.metrics import Series
from homeostat.operators.policy.observe import Namespace, Observer
from homeostat.operators.policy.world import World
from homeostat.runtime.cache.informer import Informer
from homeostat.runtime.control.reconcile import Options
from homeostat.runtime.faces.section import DeclaredSection
from homeostat.runtime.setup import Setup

SECTIONS = (DeclaredSection(open="homeostat.web.policy.dashboard.section:open_section", rules=DASHBOARD_RULES),)
CHECKS = ("homeostat.web.admission.checks:check_webhooks",)
# The health of Pods is exported as metrics also where nobody declared a policy.
WAKES = (*KINDS, POD)

log = logging.getLogger(__name__)

_DEBOUNCE_S = 0.2


class PolicyOperator:
    """Reconciles one kind of policy."""

    def __init__(self, observer: Observer, actor: Actor) -> None:
        self._observer, self._actor = observer, actor

    async def observe(self, obj: Policy) -> World:
        return await self._observer.observe(obj)

    def decide(self, obj: Policy, world: World) -> Decision[Action]:
        return decide(obj, world)

    async def act(self, obj: Policy, action: Action) -> None:
        await self._actor.act(obj, action)


def register(setup: Setup) -> None:
    names = (setup.name, f"{setup.name}-cluster")
    series = Series(lambda: setup.metrics.counted(names))
    pod_health = PodHealth()
    for each in (series, pod_health):
        setup.metrics.register(each)
    setup.watch(POD, Pod).add_handler(pod_health.pod_changed)
    workload_cache = WorkloadCache(setup)
    _control_policies(setup, series, workload_cache)
    if setup.namespace:
        log.info(
            "not reconciling ClusterDevOpsPolicies: the operator is limited to one namespace",
            extra={"namespace": setup.namespace},
        )
        return
    namespaces = setup.watch(NAMESPACE, Namespace, is_metadata_only=True)
    namespaces.add_handler(lambda change: None if change.new else pod_health.namespace_deleted(change.name))
    _control_cluster_policies(setup, series, workload_cache, namespaces)


def _control_policies(setup: Setup, series: Series, workload_cache: WorkloadCache) -> None:
    pods = setup.watch(POD, Pod)
    audits = setup.watch(POLICY_AUDIT_RESULT.kind, PolicyAuditResult)
    policies = setup.watch(DEVOPS_POLICY.kind, DevOpsPolicy)
    results = ResultsByPolicy()
    evaluation = PolicyEvaluation(setup.client, pods.cache, series=series, workload_cache=workload_cache)
    observer = Observer(
        policies.cache, results, evaluation, series=series, workload_cache=workload_cache, audits=audits.cache
    )
    actor = Actor(setup.client, results, series=series, recorder=setup.recorder)
    options = Options(finalizer=FINALIZER, concurrency=16)
    controller = setup.control(DEVOPS_POLICY.kind, DevOpsPolicy, PolicyOperator(observer, actor), options)
    ChangeRouter(controller, results, series).start(setup, workload_cache)


def _control_cluster_policies(
    setup: Setup, series: Series, workload_cache: WorkloadCache, namespaces: Informer[Namespace]
) -> None:
    pods = setup.watch(POD, Pod)
    kind = CLUSTER_DEVOPS_POLICY.kind
    policies = setup.watch(kind, ClusterDevOpsPolicy)
    results = ResultsByPolicy()
    evaluation = PolicyEvaluation(setup.client, pods.cache, series=series, workload_cache=workload_cache)
    observer = Observer(
        policies.cache,
        results,
        evaluation,
        series=series,
        workload_cache=workload_cache,
        audits=setup.watch(POLICY_AUDIT_RESULT.kind, PolicyAuditResult).cache,
        namespaces=namespaces.cache,
    )
    actor = Actor(setup.client, results, series=series, recorder=setup.recorder)
    options = Options(finalizer=FINALIZER, concurrency=4)
    operator = PolicyOperator(observer, actor)
    controller = setup.control(kind, ClusterDevOpsPolicy, operator, options, name="cluster")
    router = ChangeRouter(controller, results, series, debounce_s=_DEBOUNCE_S)
    router.start(setup, workload_cache)
    namespaces.add_handler(lambda _: router.enqueue_all())

"""Scores the Pods of a namespace against its `DevOpsPolicy` objects, continuously; `ClusterDevOpsPolicy` for many.

A changed Pod is asked alone, by the policies of its namespace. A policy is looked at when it, a Pod it means or a
workload it puts right changes, when a Pod's time is up, and on its interval.
"""

from __future__ import annotations

import logging

from homeostat.objects.decision import Decision
from homeostat.objects.kind import NAMESPACE, POD
from homeostat.objects.views.pod import Pod
from homeostat.operators.policy.access import RULES
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
from homeostat.operators.policy.deployment import ALERTS, PANELS, WEBHOOK
from homeostat.operators.policy.live.changes import Follower
from homeostat.operators.policy.live.evaluation import Inquiry
from homeostat.operators.policy.live.pod_health import Census
from homeostat.operators.policy.live.results import Books
from homeostat.operators.policy.live.workloads import Estate
from homeostat.operators.policy.metrics import Series
from homeostat.operators.policy.observe import Namespace, Observer
from homeostat.operators.policy.world import World
from homeostat.runtime.cache.informer import Informer
from homeostat.runtime.control.reconcile import Options
from homeostat.runtime.setup import Setup

__all__ = ["ALERTS", "KINDS", "PANELS", "RULES", "WAKES", "WEBHOOK", "register"]

# The health of Pods is exported as metrics also where nobody declared a policy.
WAKES = (*KINDS, POD)

log = logging.getLogger(__name__)

_GATHER_S = 0.2


class PolicyOperator:
    """For one kind of policy."""

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
    census = Census()
    for each in (series, census):
        setup.metrics.register(each)
    setup.watch(POD, Pod).add_handler(census.pod_changed)
    estate = Estate(setup)
    _follow_policies(setup, series, estate)
    if setup.namespace:
        log.info(
            "not reconciling ClusterDevOpsPolicies: the operator is limited to one namespace",
            extra={"namespace": setup.namespace},
        )
        return
    namespaces = setup.watch(NAMESPACE, Namespace, is_metadata_only=True)
    namespaces.add_handler(lambda change: None if change.new else census.namespace_gone(change.name))
    _follow_cluster_policies(setup, series, estate, namespaces)


def _follow_policies(setup: Setup, series: Series, estate: Estate) -> None:
    pods = setup.watch(POD, Pod)
    audits = setup.watch(POLICY_AUDIT_RESULT.kind, PolicyAuditResult)
    policies = setup.watch(DEVOPS_POLICY.kind, DevOpsPolicy)
    books = Books()
    inquiry = Inquiry(setup.client, pods.cache, series=series, estate=estate)
    observer = Observer(policies.cache, books, inquiry, series=series, estate=estate, audits=audits.cache)
    actor = Actor(setup.client, books, series=series, recorder=setup.recorder)
    options = Options(finalizer=FINALIZER, concurrency=16)
    controller = setup.control(DEVOPS_POLICY.kind, DevOpsPolicy, PolicyOperator(observer, actor), options)
    Follower(controller, books, series).follow(setup, estate)


def _follow_cluster_policies(setup: Setup, series: Series, estate: Estate, namespaces: Informer[Namespace]) -> None:
    pods = setup.watch(POD, Pod)
    kind = CLUSTER_DEVOPS_POLICY.kind
    policies = setup.watch(kind, ClusterDevOpsPolicy)
    books = Books()
    inquiry = Inquiry(setup.client, pods.cache, series=series, estate=estate)
    observer = Observer(
        policies.cache,
        books,
        inquiry,
        series=series,
        estate=estate,
        audits=setup.watch(POLICY_AUDIT_RESULT.kind, PolicyAuditResult).cache,
        namespaces=namespaces.cache,
    )
    actor = Actor(setup.client, books, series=series, recorder=setup.recorder)
    options = Options(finalizer=FINALIZER, concurrency=4)
    operator = PolicyOperator(observer, actor)
    controller = setup.control(kind, ClusterDevOpsPolicy, operator, options, name="cluster")
    follower = Follower(controller, books, series, gather_s=_GATHER_S)
    follower.follow(setup, estate)
    namespaces.add_handler(lambda _: follower.look_at_all())

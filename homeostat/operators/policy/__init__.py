"""Scores the Pods of a namespace against its `DevOpsPolicy` objects, continuously; `ClusterDevOpsPolicy` for many.

A changed Pod is asked alone, by the policies of its namespace. A policy is looked at when it, a Pod it means or a
workload it puts right changes, when a Pod's time is up, and on its interval.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Generic, TypeVar

from homeostat.objects.decision import Decision
from homeostat.objects.kind import NAMESPACE, POD
from homeostat.operators.policy.act import Actor
from homeostat.operators.policy.api import (
    CLUSTER_DEVOPS_POLICY,
    DEVOPS_POLICY,
    FINALIZER,
    KINDS,
    POLICY_AUDIT_RESULT,
    ClusterDevOpsPolicy,
    DevOpsPolicy,
    PolicyAuditResult,
)
from homeostat.operators.policy.decide import Action, decide
from homeostat.operators.policy.estate import Estate
from homeostat.operators.policy.ledger import Books
from homeostat.operators.policy.observe import Namespace, Observer
from homeostat.operators.policy.pod import Pod
from homeostat.operators.policy.series import Series
from homeostat.operators.policy.world import Policy, World
from homeostat.runtime.cache import Cache, Change
from homeostat.runtime.controller import Controller
from homeostat.runtime.look import Options
from homeostat.runtime.reconcile import Request
from homeostat.runtime.setup import Setup

__all__ = ["KINDS", "register"]

log = logging.getLogger(__name__)

P = TypeVar("P", DevOpsPolicy, ClusterDevOpsPolicy)


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
    setup.metrics.register(series)
    estate = Estate(setup)
    pods = setup.watch(POD, Pod)
    audits = setup.watch(POLICY_AUDIT_RESULT.kind, PolicyAuditResult)
    books = Books()
    observer = Observer(setup.client, pods.cache, books, series=series, estate=estate, audits=audits.cache)
    policies = setup.control(
        DEVOPS_POLICY.kind,
        DevOpsPolicy,
        PolicyOperator(observer, Actor(setup.client, books, series)),
        Options(finalizer=FINALIZER, concurrency=16),
    )
    _Routes(policies, books, series).follow(setup, estate)
    if setup.namespace:
        log.info("policies of the cluster are left to others", extra={"namespace": setup.namespace})
    else:
        _register_cluster(setup, series, estate)


def _register_cluster(setup: Setup, series: Series, estate: Estate) -> None:
    pods = setup.watch(POD, Pod)
    namespaces = setup.watch(NAMESPACE, Namespace, is_metadata_only=True)
    books = Books()
    observer = Observer(setup.client, pods.cache, books, series=series, estate=estate, namespaces=namespaces.cache)
    policies = setup.control(
        CLUSTER_DEVOPS_POLICY.kind,
        ClusterDevOpsPolicy,
        PolicyOperator(observer, Actor(setup.client, books, series)),
        Options(finalizer=FINALIZER, concurrency=4),
        name="cluster",
    )
    routes = _Routes(policies, books, series)
    routes.follow(setup, estate)
    policies.also(namespaces, lambda _: routes.requests(""))


class _Routes(Generic[P]):
    """Which policies a change is about; on the way it is noted in their books."""

    def __init__(
        self,
        controller: Controller[P, World, Action],
        books: Books,
        series: Series,
    ) -> None:
        self._controller: Controller[P, World, Action] = controller
        self._books, self._series = books, series
        self._kind = controller.kind
        self._policies: Cache[P] = controller.informer.cache

    def follow(self, setup: Setup, estate: Estate) -> None:
        self._controller.also(setup.watch(POD, Pod), self._pod_changed)
        self._controller.also(self._controller.informer, self._policy_changed)
        estate.listen(self._workload_changed)

    def requests(self, namespace: str) -> list[Request]:
        namespace = namespace if self._kind.is_namespaced else ""
        return [
            Request(self._kind.full_name, namespace, each.metadata.name)
            for each in self._policies.in_namespace(namespace)
        ]

    def _pod_changed(self, change: Change[Pod]) -> Iterator[Request]:
        old, new = change.old, change.new
        is_same = old is not None and new is not None and _looks_the_same(old, new)
        if is_same and not self._books.needs_bodies(change.namespace):
            return
        self._books.note(change.namespace, change.name)
        yield from self.requests(change.namespace)

    def _policy_changed(self, change: Change[P]) -> tuple[Request, ...]:
        """One that went without our finalizer leaves nothing behind either."""
        if change.new is None:
            key = (change.namespace, change.name)
            self._books.close(key)
            self._series.forget(key)
        return ()

    def _workload_changed(self, namespace: str, key: str) -> None:
        self._books.note(namespace, key)
        for request in self.requests(namespace):
            self._controller.look(request.namespace, request.name)


def _looks_the_same(old: Pod, new: Pod) -> bool:
    """To every check: what is equal is one value (see `pod`)."""
    return old.spec is new.spec and old.status is new.status and old.metadata.labels is new.metadata.labels

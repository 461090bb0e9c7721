"""The policies that apply at admission: watched, and compiled when they change rather than for each Pod.

An invalid policy evaluates no Pod; it is kept to report that. A policy that is being deleted no longer applies. A
large policy is compiled in a thread by `run`; until then its former version applies.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from functools import partial
from typing import Never, TypeVar

from homeostat.objects.kind import NAMESPACE, Kind
from homeostat.operators.policy.api import (
    CLUSTER_DEVOPS_POLICY,
    DEVOPS_POLICY,
    ClusterDevOpsPolicy,
    DevOpsPolicy,
)
from homeostat.operators.policy.compiling import compile_off_loop, is_small
from homeostat.operators.policy.engine.evaluator import Evaluator, compile_policy
from homeostat.operators.policy.engine.invalid import Fault
from homeostat.operators.policy.engine.stalled import StalledPolicy
from homeostat.operators.policy.observe import Namespace
from homeostat.operators.policy.spec import ClusterPolicySpec
from homeostat.runtime.cache.cache import Change
from homeostat.runtime.cache.informer import Informers
from homeostat.runtime.watch.source import Source

log = logging.getLogger(__name__)

PolicyChange = Change[DevOpsPolicy] | Change[ClusterDevOpsPolicy]
Compiled = TypeVar("Compiled", Evaluator, StalledPolicy)


class ActivePolicies:
    """`forget` is called with the name of each deleted namespace."""

    def __init__(self, informers: Informers, forget: Callable[[str], None] = lambda _: None) -> None:
        policies = informers.get(_source(DEVOPS_POLICY.kind), DevOpsPolicy)
        cluster = informers.get(_source(CLUSTER_DEVOPS_POLICY.kind), ClusterDevOpsPolicy)
        self._namespaces = informers.get(_source(NAMESPACE, is_metadata_only=True), Namespace)
        self._by_namespace: dict[str, dict[str, Evaluator]] = {}
        self._stalled: dict[str, dict[str, StalledPolicy]] = {}
        self._large: dict[tuple[str, str], PolicyChange] = {}
        """Policies that are still to be compiled, by namespace and name."""
        self._has_large, self._was_known = asyncio.Event(), False
        self._watchers = (policies.watcher, cluster.watcher, self._namespaces.watcher)
        policies.add_handler(self._changed)
        cluster.add_handler(self._changed)
        self._namespaces.add_handler(partial(_forget_deleted, forget))

    @property
    def is_known(self) -> bool:
        """Whether all policies are loaded: until then, a policy that is not found may exist."""
        if not self._was_known:
            self._was_known = all(each.synced.is_set() for each in self._watchers) and not self._large
        return self._was_known

    async def run(self) -> Never:
        """Compiles large policies, one after the other."""
        while True:
            await self._has_large.wait()
            self._has_large.clear()
            while self._large:
                key, change = next(iter(self._large.items()))
                compiled = None if change.new is None else await compile_off_loop(change.new.spec, name=_title(change))
                if self._large.get(key) is change:
                    del self._large[key]
                    self._replace(change, compiled)

    def knows(self, namespace: str) -> bool:
        return self._namespaces.cache.knows("", namespace)

    def of(self, namespace: str) -> list[Evaluator]:
        """The policies of the namespace, and the cluster-wide ones that select it."""
        own = self._by_namespace.get(namespace)
        wide = self._by_namespace.get("")
        found = [] if own is None else list(own.values())
        return found if wide is None else found + [each for each in wide.values() if self._is_selected(namespace, each)]

    def stalled(self, namespace: str) -> list[StalledPolicy]:
        """The invalid policies that would apply to the namespace."""
        if not self._stalled:
            return []
        own, wide = self._stalled.get(namespace, {}), self._stalled.get("", {})
        return [*own.values(), *(each for each in wide.values() if self._is_selected(namespace, each.scope))]

    @property
    def stalled_count(self) -> int:
        return sum(map(len, self._stalled.values()))

    def _is_selected(self, name: str, policy: Evaluator) -> bool:
        namespace = self._namespaces.cache.get("", name)
        if namespace is not None:
            return policy.selects_namespace(name, namespace.metadata.labels)
        # The labels are unknown, which is not the same as having none.
        has_selector = isinstance(policy.spec, ClusterPolicySpec) and policy.spec.namespace_selector is not None
        return not has_selector and policy.selects_namespace(name, {})

    def _changed(self, change: PolicyChange) -> None:
        old, new = change.old, change.new
        if old is not None and new is not None and old.spec == new.spec and old.is_terminating == new.is_terminating:
            return
        key = (change.namespace, change.name)
        self._large.pop(key, None)
        if new is None or new.is_terminating:
            self._replace(change, None)
        elif is_small(new.spec):
            self._replace(change, compile_policy(new.spec, name=_title(change)))
        else:
            self._large[key] = change
            self._has_large.set()

    def _replace(self, change: PolicyChange, compiled: Evaluator | Fault | None) -> None:
        new = change.new
        stalled = (
            StalledPolicy(new.spec, compiled, name=_title(change)) if new and isinstance(compiled, Fault) else None
        )
        _replace(self._by_namespace, change, compiled if isinstance(compiled, Evaluator) else None)
        _replace(self._stalled, change, stalled)
        if stalled is not None:
            fields = {"namespace": change.namespace, "policy": change.name, "reason": str(stalled.fault)}
            log.warning("policy is invalid; at admission it denies nothing", extra=fields)


def _title(change: PolicyChange) -> str:
    return change.name if change.namespace else f"{CLUSTER_DEVOPS_POLICY.kind.kind} {change.name}"


def _replace(places: dict[str, dict[str, Compiled]], change: PolicyChange, policy: Compiled | None) -> None:
    """Replaces the former version of the policy; policies stay sorted by name."""
    policies = places.get(change.namespace, {})
    if policy is None:
        policies.pop(change.name, None)
        if not policies:
            places.pop(change.namespace, None)
        return
    # A first list arrives in the order of names, so that sorting again is rare.
    is_sorted = change.name in policies or not policies or change.name > next(reversed(policies))
    policies[change.name] = policy
    places[change.namespace] = policies if is_sorted else dict(sorted(policies.items()))


def _forget_deleted(forget: Callable[[str], None], change: Change[Namespace]) -> None:
    if change.new is None:
        forget(change.name)


def _source(kind: Kind, *, is_metadata_only: bool = False) -> Source:
    return Source(kind.path(""), is_metadata_only=is_metadata_only)

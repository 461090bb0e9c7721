"""Scales the targets of HorizontalPodAutoscalers by what annotations and rules say that Pods use."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Final

from homeostat.edge.turn import Turn
from homeostat.objects.errors import ApiError, BadRequestError
from homeostat.objects.kind import DEPLOYMENT, POD, REPLICA_SET, STATEFUL_SET, Kind
from homeostat.objects.selectors import NOTHING
from homeostat.objects.time.timestamp import format_time
from homeostat.operators.workloads.api import AUTOSCALER, LOAD, REPLICATION_CONTROLLER, Meta, Pod, Rules, Workload
from homeostat.operators.workloads.autoscalers.behavior import History, tolerance_of
from homeostat.operators.workloads.autoscalers.decide import Decision, decide, metrics_of, unreachable
from homeostat.operators.workloads.autoscalers.metrics import Outcome, Target, outcome
from homeostat.operators.workloads.autoscalers.usage import Use, UseError, parse_use
from homeostat.operators.workloads.events import Events
from homeostat.operators.workloads.pods.rules import Rulebook, RuleError
from homeostat.operators.workloads.reconciler import Key, Reconciler
from homeostat.operators.workloads.replicas.decide import selector_of_set
from homeostat.operators.workloads.status import status_patch
from homeostat.runtime.cache.cache import Change
from homeostat.runtime.cache.informer import Informer
from homeostat.runtime.setup import Setup

COMPONENT: Final = "horizontal-pod-autoscaler"
SCALED: Final = (DEPLOYMENT, STATEFUL_SET, REPLICA_SET, REPLICATION_CONTROLLER)
_GATHER_S: Final = 0.2
_MOST_PODS: Final = 10_000
"""A metric of more Pods is computed in a thread."""


class Autoscalers:
    def __init__(
        self,
        setup: Setup,
        scalers: Informer[Workload],
        pods: Informer[Pod],
        rules: Informer[Rules],
        *,
        rulebook: Rulebook,
        events: Events,
    ) -> None:
        self._client, self._scalers, self._pods, self._rulebook = setup.client, scalers.cache, pods.cache, rulebook
        self._events, self._clock = events, asyncio.get_running_loop().time
        self._histories: dict[str, History] = {}
        """By the uid of the autoscaler."""
        self._reconciler = Reconciler(setup, "autoscalers", self._reconcile, workers=4)
        self._targets = {(kind.group, kind.kind): (kind, setup.watch(kind, Workload)) for kind in SCALED}
        for _, informer in self._targets.values():
            informer.add_handler(self._note)
        scalers.add_handler(self._note_scaler)
        pods.add_handler(self._note)
        rules.add_handler(self._note)

    def _note(self, change: Change[Workload] | Change[Pod] | Change[Rules]) -> None:
        """Autoscalers are few: all those of the namespace are reconciled."""
        for each in self._scalers.in_namespace(change.namespace):
            self._reconciler.add(each.key, after_s=_GATHER_S)

    def _note_scaler(self, change: Change[Workload]) -> None:
        if change.new is None and change.old is not None:
            self._histories.pop(change.old.metadata.uid, None)
        self._reconciler.add((change.namespace, change.name))

    async def _reconcile(self, key: Key) -> None:
        scaler = self._scalers.get(*key)
        if scaler is None or scaler.metadata.is_terminating:
            return
        now, uid = format_time(datetime.now(UTC)), scaler.metadata.uid
        reference = scaler.spec.get("scaleTargetRef") or {}
        kind, found = self._find(key[0], reference)
        if kind is None or found is None:
            name = f'{reference.get("apiVersion") or "v1"} {reference.get("kind")} "{reference.get("name")}"'
            scaled = ", ".join(f"{each.api_version} {each.kind}" for each in SCALED)
            why = f"{name} not found" if kind is not None else f"{name} is not simulated; expected one of {scaled}"
            decision = unreachable(scaler, why, now)
        else:
            history = self._histories.get(uid, History())
            target = await self._target(scaler, kind, found)
            outcomes = await self._outcomes(scaler, target)
            decision = decide(scaler, target, outcomes, history, now_s=self._clock(), now=now)
            if not self._exists(scaler):
                return  # It was deleted meanwhile, and so was its history.
            self._histories[uid] = decision.history
        await self._act(scaler, kind, found, decision)
        self._reconciler.add(key, after_s=decision.again_s)

    def _exists(self, scaler: Workload) -> bool:
        found = self._scalers.readable(*scaler.key)
        return found is not None and found.metadata.uid == scaler.metadata.uid

    def _find(self, namespace: str, reference: Mapping[str, str]) -> tuple[Kind | None, Workload | None]:
        group = (reference.get("apiVersion") or "").rpartition("/")[0]
        kind, informer = self._targets.get((group, reference.get("kind") or ""), (None, None))
        if kind is None or informer is None:
            return None, None
        return kind, informer.cache.get(namespace, reference.get("name") or "")

    async def _target(self, scaler: Workload, kind: Kind, found: Workload) -> Target:
        try:
            selector = selector_of_set(found, is_plain=kind is REPLICATION_CONTROLLER)
        except BadRequestError:
            selector = NOTHING
        pods, uses, turn = [], {}, Turn()
        for each in self._pods.in_namespace(found.metadata.namespace):
            await turn.pause()
            if each.is_active and selector.matches(each.metadata.labels):
                pods.append(each)
                if use := self._use(each):
                    uses[each.key] = use
        return Target(
            pods=pods,
            uses=uses,
            load=self._parsed(kind, found.metadata, found.metadata.annotations.get(LOAD, "")),
            replicas=found.spec.get("replicas", 1),
            status_replicas=found.status.get("replicas") or 0,
            tolerance=tolerance_of(scaler.spec.get("behavior") or {}),
        )

    async def _outcomes(self, scaler: Workload, target: Target) -> list[Outcome]:
        found, turn = [], Turn()
        for metric in metrics_of(scaler):
            is_long = len(target.pods) > _MOST_PODS
            found.append(await asyncio.to_thread(outcome, metric, target) if is_long else outcome(metric, target))
            await turn.pause()
        return found

    def _use(self, pod: Pod) -> Mapping[str, Use]:
        try:
            text = self._rulebook.fate(pod).use
        except RuleError:
            return {}  # The controller of Pods says so.
        return self._parsed(POD, pod.metadata, text) if text else {}

    def _parsed(self, kind: Kind, meta: Meta, text: str) -> Mapping[str, Use]:
        try:
            return parse_use(text)
        except UseError as error:
            self._events.record(kind, meta, "InvalidRule", str(error), by="workloads", type_="Warning")
            return {}

    async def _act(self, scaler: Workload, kind: Kind | None, found: Workload | None, decision: Decision) -> None:
        meta = scaler.metadata
        if decision.scale is not None and kind is not None and found is not None:
            try:
                patch = {"spec": {"replicas": decision.scale}}
                await self._client.merge(kind.path(*found.key, "scale"), patch)
            except ApiError as error:
                self._record(meta, "FailedRescale", f"New size: {decision.scale}; reason: {decision.reason}; {error}")
                raise
            if self._exists(scaler):
                before, now_s = found.spec.get("replicas", 1), self._clock()
                self._histories[meta.uid] = decision.history.with_change(before, decision.scale, now_s)
            message = f"New size: {decision.scale}; reason: {decision.reason}"
            self._events.record(AUTOSCALER, meta, "SuccessfulRescale", message, by=COMPONENT)
        if decision.status is not None:
            path = AUTOSCALER.path(*scaler.key, "status")
            await self._client.merge(path, status_patch(decision.status, "desiredReplicas"))
            for reason, text in decision.events:
                self._record(meta, reason, text)

    def _record(self, meta: Meta, reason: str, message: str) -> None:
        self._events.record(AUTOSCALER, meta, reason, message, by=COMPONENT, type_="Warning")

"""The life of one resource over plain values: the runtime's sequence, a plugin's world, and a process that may die.

`Life` does what the runtime does, in its order, with its own functions for planning status writes. Between every two
steps it counts, and at the step of choice it dies: what was in memory is gone, and what was written or done stays.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any, Protocol

import msgspec

from homeostat.objects.decision import Decision, Receipt, Wait
from homeostat.objects.json import JsonObject
from homeostat.objects.patch.json import merge_patch
from homeostat.operators.actions.action import Adopt, Begin, Cancel, Start
from homeostat.operators.actions.api import Resource, ResourceStatus
from homeostat.operators.actions.decide import decide, need_of
from homeostat.operators.actions.digest import declaration_digest
from homeostat.operators.actions.runs.conclusion import Action
from homeostat.operators.actions.runs.history import Prune, Record
from homeostat.operators.actions.runs.run import Changes, Outcome, Run
from homeostat.operators.actions.world import Fault, Fresh, Lost, Plan, ResourcePace, Seen, Underway, World
from homeostat.runtime.control.status import plan_receipt, plan_status, snapshot_of

START = datetime(2026, 1, 1, tzinfo=UTC)


class DiedError(Exception):
    """The process is gone."""


class Plugin(Protocol):
    """What a plugin is to a life: the truth outside, which no death changes."""

    def plan(self, wanted: str, applied: bool) -> Plan | Fault: ...

    def start(self, run: Run, wanted: str) -> Outcome | Underway: ...

    def follow(self, run: Run, now: datetime) -> Outcome | Underway | Lost: ...

    def cancel(self, run: Run) -> None: ...


class Here:
    """Effects happen at once, in this process."""

    def __init__(self) -> None:
        self.value: str | None = None
        self.effects: list[str] = []
        self.needless: list[str] = []
        self.failures = 0
        self.is_blunt = False
        self.again_after_s: float | None = None

    def plan(self, wanted: str, applied: bool) -> Plan | Fault:
        if self.failures:
            self.failures -= 1
            return Fault("Unreachable", "nobody answers")
        told = f"{self.value} becomes {wanted}"
        seen = {"value": self.value} if self.value else {}
        return Plan(wanted != self.value, Changes(updated=1), told, self.again_after_s, seen)

    def start(self, run: Run, wanted: str) -> Outcome | Underway:
        after = None if run.purpose == "destroy" else wanted
        (self.needless if self.value == after else self.effects).append(f"{run.purpose} {after}")
        if not self.is_blunt:
            self.value = after
        return Outcome(is_success=True, outputs={"value": after} if after else {}, output="done")

    def follow(self, run: Run, now: datetime) -> Outcome | Underway | Lost:
        return Lost(is_restartable=False)

    def cancel(self, run: Run) -> None:
        raise AssertionError("nothing of it runs elsewhere")


class Elsewhere:
    """Effects are runs of another system: each takes some reconciliations, shows late, and is found by its ticket."""

    def __init__(self, *, has_plan: bool = False, takes: int = 2, hidden: int = 1) -> None:
        self.value: str | None = None
        self.has_plan, self.takes, self.hidden = has_plan, takes, hidden
        self.runs: dict[str, tuple[Run, str]] = {}
        self.polls: dict[str, int] = {}
        self.effects: list[str] = []
        self.needless: list[str] = []
        self.failing: set[str] = set()
        self.cancelled: set[str] = set()

    def plan(self, wanted: str, applied: bool) -> Plan | Fault:
        if not applied:
            return Plan(True)
        return Plan(None) if self.has_plan else Plan(False, is_assumed=True)

    def start(self, run: Run, wanted: str) -> Outcome | Underway:
        if run.ticket in self.runs:
            self.needless.append(run.ticket)
        self.runs[run.ticket] = (run, wanted)
        if run.purpose != "plan":
            self.effects.append(f"{run.purpose} {wanted if run.purpose == 'apply' else None}")
        return Underway({"id": len(self.runs)}, 10)

    def follow(self, run: Run, now: datetime) -> Outcome | Underway | Lost:
        if run.ticket not in self.runs:
            began = datetime.fromisoformat(run.began)
            return Underway(None, 30) if now < began + timedelta(seconds=60) else Lost(is_restartable=True)
        self.polls[run.ticket] = polls = self.polls.get(run.ticket, 0) + 1
        if run.handle is None and polls <= self.hidden:
            return Underway(None, 5)
        if polls <= self.takes:
            return Underway({"id": list(self.runs).index(run.ticket) + 1}, 10)
        _, wanted = self.runs[run.ticket]
        if run.ticket in self.cancelled:
            return Outcome(is_success=False, reason="RunFailed", message="the run ended: cancelled")
        if run.purpose in self.failing:
            return Outcome(is_success=False, reason="RunFailed", message="the run failed")
        if run.purpose == "plan":
            return Outcome(is_success=True, is_changed=self.value != wanted, output="a plan")
        self.value = wanted if run.purpose == "apply" else None
        return Outcome(is_success=True, outputs={"value": wanted})

    def cancel(self, run: Run) -> None:
        assert run.handle is not None
        self.cancelled.add(run.ticket)


class Life:
    def __init__(self, plugin: Here | Elsewhere, *, dies_at: int = 0, pace: ResourcePace = ResourcePace()) -> None:  # noqa: B008
        self.plugin: Plugin = plugin
        self.now, self.chance, self.pace = START, 0.5, pace
        self.steps, self.dies_at, self.deaths = 0, dies_at, 0
        self.fresh: set[str] = set()
        self.history: dict[str, Record] = {}
        self.is_gone = False
        self.phases: list[str] = []
        self.obj: JsonObject = {
            "metadata": {"name": "db", "uid": "u-1", "generation": 1, "resourceVersion": "1", "annotations": {}},
            "spec": {"value": "one"},
        }

    @property
    def resource(self) -> Resource:
        return msgspec.json.decode(msgspec.json.encode(self.obj), type=Resource)

    @property
    def status(self) -> ResourceStatus:
        return self.resource.read_status(ResourceStatus)

    def condition(self, name: str) -> str:
        return next((each.status for each in self.status.conditions if each.type == name), "")

    def declare(self, value: str) -> None:
        self.obj["spec"] = {"value": value}
        self.obj["metadata"]["generation"] += 1

    def ask(self, value: str) -> None:
        self.obj["metadata"]["annotations"]["homeostat.dev/reconcile"] = value

    def cancel(self) -> None:
        assert self.status.run is not None
        self.obj["metadata"]["annotations"]["homeostat.dev/cancel"] = self.status.run.ticket

    def delete(self) -> None:
        self.obj["metadata"].setdefault("deletionTimestamp", "2026-01-01T00:00:00Z")
        self.obj["metadata"]["generation"] += 1

    def settle(self, looks: int = 200) -> None:
        """Looks, with time passing as asked, until the resource is ready or failed and rests, or is gone."""
        for _ in range(looks):
            wait = self.look()
            if self.is_gone or (wait is not None and self.is_at_rest):
                return
            self.now += wait or timedelta()
        raise AssertionError(f"it never came to rest: {self.obj}")

    @property
    def is_at_rest(self) -> bool:
        return need_of(self.resource, self.status, self.digest, self.now) == "rest"

    @property
    def digest(self) -> str:
        return declaration_digest(self.obj["spec"], "model", {})

    def look(self) -> timedelta | None:
        """How long to wait for the next look; None for not at all."""
        try:
            return self._look()
        except DiedError:
            self.fresh.clear()
            self.deaths += 1
            return None

    def _step(self) -> None:
        self.steps += 1
        if self.steps == self.dies_at:
            raise DiedError

    def _look(self) -> timedelta | None:
        resource, status = self.resource, self.status
        world = self.observe(resource, status)
        try:
            decision = decide(resource, world)
        except Wait as wait:
            return wait.after
        assert decide(resource, world) == decision
        if resource.is_terminating and decision.is_settled:
            self._step()
            self.is_gone = True
            return None
        for action in decision.actions:
            self._step()
            receipt = self.act(action)
            self._step()
            if receipt is not None:
                self._patch(plan_receipt(snapshot_of(self.resource), receipt))
                self._step()
        self._report(decision)
        self._step()
        return decision.requeue_after if decision.is_settled else None

    def observe(self, resource: Resource, status: ResourceStatus) -> World:
        wanted = resource.spec["value"]
        seen: Seen | None = None
        match need_of(resource, status, self.digest, self.now):
            case "plan":
                seen = self.plugin.plan(wanted, status.applied_digest == self.digest)
            case "verify":
                seen = self.plugin.plan(wanted, True)
            case "follow":
                seen = self._followed(status)
        return World(
            now=self.now,
            chance=self.chance,
            digest=self.digest,
            kind="Thing",
            version="v1",
            plugin="model",
            pace=self.pace,
            seen=seen,
        )

    def _followed(self, status: ResourceStatus) -> Seen:
        assert status.run is not None
        return Fresh() if status.run.ticket in self.fresh else self.plugin.follow(status.run, self.now)

    def act(self, action: Action) -> Receipt | None:
        match action:
            case Begin(ticket):
                self.fresh.add(ticket)
            case Start(run):
                self.fresh.discard(run.ticket)
                match self.plugin.start(run, self.obj["spec"]["value"]):
                    case Outcome() as outcome:
                        return _receipt(msgspec.structs.replace(run, outcome=outcome))
                    case Underway(handle):
                        return _receipt(msgspec.structs.replace(run, handle=handle))
            case Cancel(run):
                self.plugin.cancel(run)
                return _receipt(msgspec.structs.replace(run, is_cancelled=True))
            case Adopt(run):
                return _receipt(run)
            case Record(name):
                self.history[name] = action
            case Prune(name):
                self.history.pop(name, None)
        return None

    def _report(self, decision: Decision[Action]) -> None:
        snapshot = snapshot_of(self.resource)
        self._patch(plan_status(snapshot, decision.conditions, decision.status, now=self.now))
        if not self.phases or self.phases[-1] != self.status.phase:
            self.phases.append(self.status.phase)

    def _patch(self, patch: JsonObject | None) -> None:
        if patch is not None:
            self.obj = merge_patch(self.obj, {"status": patch["status"]})
            self.obj["metadata"]["resourceVersion"] = str(int(self.obj["metadata"]["resourceVersion"]) + 1)


def _receipt(run: Run) -> Receipt:
    status: dict[str, Any] = {"run": msgspec.to_builtins(run)}
    return Receipt(status)

"""A run elsewhere is followed to its end by what it was begun with, whatever breaks or is declared meanwhile."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import msgspec
import pytest

from homeostat.external.rest.errors import NotSentError, ResponseLostError
from homeostat.external.secrets.secrets import SecretError
from homeostat.objects.decision import Wait
from homeostat.objects.time.timestamp import parse_time
from homeostat.operators.actions.api import ActionReference
from homeostat.operators.actions.plugins.plugin import ActionError, Job
from homeostat.operators.actions.runs import cancellation
from homeostat.operators.actions.runs.run import Outcome
from homeostat.operators.actions.world import Lost, Plan, Underway
from tests.operators.actions.real_plugin import HostedLife


class YardConfig(msgspec.Struct, frozen=True):
    place: str = "north"


class Yard:
    """Another system: it knows its runs by their tickets, and remembers who asked for what."""

    version, config = "1.0.0", YardConfig

    def __init__(self, name: str = "yard", takes: int = 3) -> None:
        self.name, self.takes = name, takes
        self.started: dict[str, str] = {}
        self.asked: list[tuple[str, str]] = []
        self.plans = 0
        self.busy = 0
        self.breaks_at_start: Exception | None = None
        self.breaks_at_follow: list[Exception] = []
        self.answers: Any = None
        self.fails = False

    async def plan(self, job: Job[YardConfig]) -> Plan:
        self.plans += 1
        return Plan(not job.is_applied)

    async def start(self, job: Job[YardConfig]) -> Underway | Outcome:
        if self.busy:
            self.busy -= 1
            raise Wait("Busy", timedelta(seconds=5), message="come back later")
        assert job.ticket not in self.started
        self.started[job.ticket] = f"{job.purpose} {job.spec['value']}"
        if self.breaks_at_start is not None:
            raise self.breaks_at_start
        return Underway({"id": len(self.started)}, 5.0)

    async def follow(self, job: Job[YardConfig]) -> Underway | Outcome | Lost:
        self.asked.append((job.config.place, job.spec["value"]))
        if self.breaks_at_follow:
            raise self.breaks_at_follow.pop(0)
        if job.ticket not in self.started:
            return Lost(is_restartable=True)
        if len(self.asked) < self.takes:
            return Underway(job.handle or {"id": 1}, 5.0)
        return Outcome(is_success=not self.fails, reason="No", outputs={"value": job.spec["value"]})


@pytest.fixture
def runner() -> Iterator[asyncio.Runner]:
    with asyncio.Runner() as runner:
        yield runner


def begun(runner: asyncio.Runner, yard: Yard, **more: Any) -> HostedLife:
    """Recorded, started, and asked about once."""
    life = HostedLife(runner, lambda: yard, {}, **more)
    for _ in range(3):
        life.look()
    assert list(yard.started.values()) == ["apply one"]
    return life


def test_a_run_is_followed_by_the_spec_and_the_configuration_that_it_was_begun_with(runner: asyncio.Runner) -> None:
    yard = Yard()
    life = begun(runner, yard)
    life.obj["action"] = {"config": {"place": "south"}}
    life.declare("two")
    life.look()
    assert set(yard.asked) == {("north", "one")}
    life.settle()
    assert list(yard.started.values()) == ["apply one", "apply two"]
    assert ("south", "two") in yard.asked
    assert [each.spec.generation for each in life.history.values()] == [1, 2]


def test_a_run_is_followed_by_the_plugin_that_began_it(runner: asyncio.Runner) -> None:
    yard, other = Yard(), Yard("other")
    life = begun(runner, yard, others={"other": other})
    life.type = msgspec.structs.replace(life.type, resource_fields=("plugin",))
    life.obj["action"] = {"plugin": "other"}
    life.obj["metadata"]["generation"] += 1
    life.settle()
    assert len(yard.asked) == yard.takes
    assert (list(yard.started.values()), list(other.started.values())) == (["apply one"], ["apply one"])
    assert [each.spec.plugin for each in life.history.values()] == ["yard", "other"]


def test_a_type_that_changes_its_plugin_does_not_change_that_of_a_run(runner: asyncio.Runner) -> None:
    yard, other = Yard(), Yard("other")
    life = begun(runner, yard, others={"other": other})
    life.type = msgspec.structs.replace(life.type, action=ActionReference("other"))
    life.settle()
    assert len(yard.asked) == yard.takes
    assert list(other.started.values()) == ["apply one"]


@pytest.mark.parametrize(
    "error",
    [KeyError("status"), NotSentError("no"), ResponseLostError("no"), SecretError("the store does not answer")],
    ids=["breaks", "not-sent", "answer-lost", "no-secret"],
)
def test_a_run_that_cannot_be_followed_just_now_has_not_failed(runner: asyncio.Runner, error: Exception) -> None:
    yard = Yard()
    life = begun(runner, yard)
    yard.breaks_at_follow = [error] * 3
    for _ in range(3):
        assert life.look() == timedelta(seconds=30)
    assert life.status.run is not None
    life.settle()
    assert (list(yard.started.values()), life.status.phase) == (["apply one"], "ready")
    assert [each.spec.is_success for each in life.history.values()] == [True]


def test_a_plugin_that_is_gone_leaves_its_run_to_wait_for_it(runner: asyncio.Runner) -> None:
    yard = Yard()
    life = begun(runner, yard)
    life.reborn(Yard("other"))
    assert life.look() == timedelta(seconds=30)
    assert life.status.run is not None
    life.reborn(yard)
    life.settle()
    assert (list(yard.started.values()), life.status.phase) == (["apply one"], "ready")


def test_a_run_that_cannot_be_followed_for_a_day_is_given_up(runner: asyncio.Runner) -> None:
    yard = Yard()
    life = begun(runner, yard)
    yard.breaks_at_follow = [KeyError("status")]
    life.now += timedelta(days=1, seconds=1)
    life.settle()
    assert life.status.phase == "failed"
    assert "PluginBroke" in life.status.message


def test_what_the_plugin_itself_calls_a_failure_is_one(runner: asyncio.Runner) -> None:
    yard = Yard()
    life = begun(runner, yard)
    yard.breaks_at_follow = [ActionError("Cancelled", "somebody cancelled it")]
    life.settle()
    assert (life.status.phase, life.status.message) == ("failed", "Cancelled: somebody cancelled it")


@pytest.mark.parametrize("error", [KeyError("id"), ResponseLostError("no")], ids=["breaks", "answer-lost"])
def test_a_start_that_breaks_off_is_found_out_about_and_not_repeated(runner: asyncio.Runner, error: Exception) -> None:
    yard = Yard()
    yard.breaks_at_start = error
    life = HostedLife(runner, lambda: yard, {})
    life.settle()
    assert (list(yard.started.values()), life.status.phase) == (["apply one"], "ready")


def test_a_start_that_did_nothing_yet_is_made_again_and_not_searched_for(runner: asyncio.Runner) -> None:
    yard = Yard()
    yard.busy = 2
    life = HostedLife(runner, lambda: yard, {})
    for _ in range(4):
        life.look()
    assert (list(yard.started.values()), yard.asked) == (["apply one"], [])


def test_a_start_that_the_plugin_refuses_is_a_failure_and_tried_later(runner: asyncio.Runner) -> None:
    yard = Yard()
    yard.breaks_at_start = ActionError("Refused", "not today")
    life = HostedLife(runner, lambda: yard, {})
    life.settle()
    assert (life.status.phase, life.status.retries, len(yard.started)) == ("failed", 1, 1)


def test_what_has_failed_is_not_reconciled_before_its_retry(runner: asyncio.Runner) -> None:
    yard = Yard()
    yard.fails = True
    life = HostedLife(runner, lambda: yard, {})
    life.settle()
    assert (life.status.phase, yard.plans) == ("failed", 1)


def test_what_a_run_was_begun_with_goes_with_it(runner: asyncio.Runner) -> None:
    yard = Yard()
    life = begun(runner, yard)
    assert life.status.run is not None
    assert '"value":"one"' in life.status.run.declaration
    life.settle()
    assert "declaration" not in str(life.obj["status"])


class Mute(Yard):
    async def plan(self, job: Job[YardConfig]) -> Plan:
        return None  # type: ignore[return-value]


def test_a_plugin_that_answers_nothing_is_reported(runner: asyncio.Runner) -> None:
    life = HostedLife(runner, Mute, {})
    life.settle()
    assert life.status.message == "PluginBroke: TypeError: the plugin returned a NoneType"


class CancellableYard(Yard):
    """A yard that can be asked to cancel."""

    def __init__(self, refusal: Exception | None = None, **more: Any) -> None:
        super().__init__(**more)
        self.refusal, self.cancelled = refusal, list[str]()

    async def cancel(self, job: Job[YardConfig]) -> None:
        if self.refusal is not None:
            raise self.refusal
        self.cancelled.append(job.ticket)
        self.takes, self.fails = 0, True


def test_a_run_that_its_plugin_cancelled_is_recorded_as_cancelled(runner: asyncio.Runner) -> None:
    yard = CancellableYard(takes=100)
    life = begun(runner, yard)
    life.cancel()
    life.settle()
    assert yard.cancelled == list(yard.started)
    assert [each.spec.phase for each in life.history.values()] == ["cancelled"]


@pytest.mark.parametrize(
    ("yard", "reason"),
    [
        (Yard(takes=6), "NotCancellable"),
        (CancellableYard(ActionError("Forbidden", "the token may not cancel"), takes=6), "Forbidden"),
    ],
    ids=["cannot", "is-refused"],
)
def test_a_run_that_nobody_could_cancel_is_not_called_cancelled(
    runner: asyncio.Runner, yard: Yard, reason: str
) -> None:
    """It failed by itself: it is recorded so, and retried as any other failure."""
    yard.fails = True
    life = begun(runner, yard)
    life.cancel()
    while not life.history:
        life.now += life.look() or timedelta()
    assert set(life.waits) == {reason}
    assert [each.spec.phase for each in life.history.values()] == ["failed"]
    assert life.status.next_run is not None
    assert parse_time(life.status.next_run) < life.now + timedelta(days=1)


def test_a_plugin_with_a_reason_of_its_own_cancels_nothing(runner: asyncio.Runner) -> None:
    """Somebody may cancel a run in the other system: that is a failure, and is retried."""

    class Interrupted(Yard):
        async def follow(self, job: Job[YardConfig]) -> Underway | Outcome | Lost:
            found = await super().follow(job)
            is_over = isinstance(found, Outcome)
            return Outcome(is_success=False, reason="Cancelled", message="over there") if is_over else found

    life = begun(runner, Interrupted())
    while not life.history:
        life.now += life.look() or timedelta()
    assert [each.spec.phase for each in life.history.values()] == ["failed"]
    assert life.status.next_run is not None
    assert parse_time(life.status.next_run) < life.now + timedelta(days=1)


def test_a_request_to_start_a_run_elsewhere_is_not_cut_short(
    runner: asyncio.Runner, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Half a request may have started it: only who knows the run can cancel it."""

    async def at_once(*_: Any) -> None:
        return None

    class SlowYard(CancellableYard):
        async def start(self, job: Job[YardConfig]) -> Underway | Outcome:
            begun = await super().start(job)
            await asyncio.sleep(0.01)
            return begun

    monkeypatch.setattr(cancellation, "_request", at_once)
    life = begun(runner, SlowYard(takes=100))
    assert life.status.run is not None
    assert (life.status.run.handle, life.status.run.outcome) == ({"id": 1}, None)

"""The record of reconciliations: exact, never too long, and the last word of whoever came to an end."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import msgspec
import pytest

from homeostat.client.base import Client
from homeostat.objects.declared import Metadata
from homeostat.objects.time.timestamp import format_time
from homeostat.operators.actions.api import KINDS, RECONCILIATION, Keep, ResourceType, ResourceTypeSpec
from homeostat.operators.actions.controllers import ResourceControls
from homeostat.operators.actions.plugins.plugin import ActionError, Job
from homeostat.operators.actions.runs.conclusion import Action
from homeostat.operators.actions.runs.history import Record, entry_object
from homeostat.operators.actions.runs.run import Outcome, shortened
from homeostat.operators.actions.runs.sweep import (
    HistorySweep,
    Kept,
    KeptMetadata,
    KeptSpec,
    sweep_history,
    sweep_regularly,
)
from homeostat.operators.actions.settings import ActionSettings
from homeostat.operators.actions.world import Plan, ResourcePace
from homeostat.plane import Settings, open_plane
from homeostat.runtime.installation import install
from homeostat.testing.eventually import eventually
from tests.operators.actions.lifecycle import START, Here, Life
from tests.operators.actions.real_plugin import HostedLife, Nowhere
from tests.operators.actions.test_runs import YardConfig
from tests.operators.actions.things import ShelfPlugin, Things


class Slow:
    """Planning takes two and a half seconds, applying four."""

    name, version, config = "slow", "1.0.0", YardConfig
    life: HostedLife

    async def plan(self, job: Job[YardConfig]) -> Plan:
        self.life.now += timedelta(seconds=2.5)
        return Plan(not job.is_applied)

    async def apply(self, _: Job[YardConfig]) -> Outcome:
        self.life.now += timedelta(seconds=4)
        return Outcome(is_success=True)

    async def destroy(self, _: Job[YardConfig]) -> Outcome:
        return Outcome(is_success=True)


class Failing(Slow):
    """It prints a hundred lines, and fails."""

    printed = "".join(f"step {at}: a table was migrated\n" for at in range(100))

    async def apply(self, _: Job[YardConfig]) -> Outcome:
        raise ActionError("ProgramFailed", f"exit code 3: {shortened(self.printed, 900)}", output=self.printed)


@pytest.fixture
def slow_life() -> Iterator[HostedLife]:
    with asyncio.Runner() as runner:
        slow = Slow()
        life = slow.life = HostedLife(runner, lambda: slow, {})
        life.now += timedelta(milliseconds=700)
        life.settle()
        yield life


def test_a_reconciliation_without_changes_lasts_as_long_as_its_plan(slow_life: HostedLife) -> None:
    slow_life.now += timedelta(hours=1)
    slow_life.settle()
    assert [each.spec.duration_seconds for each in slow_life.history.values()][1:] == [2.5]


def test_a_run_that_failed_keeps_its_output_and_its_error_begins_with_the_reason() -> None:
    failing = Failing()
    with asyncio.Runner() as runner:
        life = failing.life = HostedLife(runner, lambda: failing, {})
        life.settle()
    (entry,) = life.history.values()
    assert entry.spec.apply_output == Failing.printed
    cut, *lines = entry.spec.error.splitlines()
    assert cut == "ProgramFailed: exit code 3: ..."
    assert "".join(f"{each}\n" for each in lines) in Failing.printed
    assert all(each.startswith("step ") for each in lines), "no line is cut"


def test_a_run_lasts_from_its_record_to_its_last_reconciliation(slow_life: HostedLife) -> None:
    (entry,) = slow_life.history.values()
    assert entry.spec.duration_seconds == 2.5 + 4 + 2.5


def test_the_interval_begins_at_the_end_of_the_reconciliation(slow_life: HostedLife) -> None:
    assert slow_life.status.next_run == "2026-01-01T00:05:09.700000Z"


class Counting(Life):
    most = 0

    def act(self, action: Action) -> Any:
        told = super().act(action)
        self.most = max(self.most, len(self.history))
        return told


def test_at_no_time_are_there_more_entries_than_are_kept() -> None:
    for dies_at in range(30, 60):
        life = Counting(Here(), dies_at=dies_at, pace=ResourcePace(keep=Keep(entries=3)))
        for _ in range(12):
            life.settle()
            life.now += timedelta(minutes=6)
        assert (life.most, len(life.history)) == (3, 3)


class DyingAfterRecord(Life):
    """Dies as soon as the second entry is written, before the status has it."""

    def act(self, action: Action) -> Any:
        told = super().act(action)
        if isinstance(action, Record) and len(self.history) == 2 and not self.deaths:
            self.dies_at = self.steps + 1
        return told


def test_the_entry_of_an_interrupted_reconciliation_is_replaced() -> None:
    plugin = Here()
    life = DyingAfterRecord(plugin)
    life.settle()
    life.now += timedelta(minutes=6)
    life.look()
    assert (life.deaths, len(life.history)) == (1, 2)
    plugin.value = "tampered"
    life.settle()
    last = list(life.history.values())[-1]
    assert (len(life.history), last.spec.is_drift, last.spec.apply_output) == (2, True, "done")


async def test_an_entry_that_is_written_again_is_replaced_on_a_plane(tmp_path: Path) -> None:
    things = Things("shelf", {}, tmp_path, shelf=ShelfPlugin())
    async with open_plane(Settings(data=tmp_path / "plane", port=0, operators=frozenset())) as plane:
        await install(plane.client, KINDS)
        operator = things.operator(plane.client)
        life = Life(Here())
        life.settle()
        (record,) = life.history.values()
        life.obj["metadata"]["namespace"] = "default"
        await operator.act(life.resource, record)
        anew = msgspec.structs.replace(record.spec, plan_output="anew")
        await operator.act(life.resource, Record(record.name, anew))
        (entry,) = (await plane.client.list(RECONCILIATION.kind.path("default")))[0]
        assert entry["spec"]["planOutput"] == "anew"


def kept(uid: str, number: int) -> Kept:
    spec = KeptSpec("Thing", uid, format_time(START - timedelta(hours=1) + timedelta(seconds=number)))
    return Kept(KeptMetadata(f"{uid}-{number}"), spec)


@pytest.mark.parametrize("size", [1, 2, 3, 5, 100])
def test_a_census_in_pages_of_any_size_finds_the_same(size: int) -> None:
    held = [kept(uid, number) for uid in ("a", "b", "c") for number in range(5)]
    sweep_of = HistorySweep(lambda _: Keep(entries=2), now=START)
    found = [each for at in range(0, len(held), size) for each in sweep_of.take(held[at : at + size])]
    found += sweep_of.end()
    assert {each.metadata.name for each in found} == {f"{uid}-{number}" for uid in "abc" for number in range(3)}


def test_a_census_reads_the_settings_of_a_kind_once() -> None:
    asked: list[str] = []

    def keep_of(kind: str) -> Keep:
        asked.append(kind)
        return Keep(entries=2)

    sweep_of = HistorySweep(keep_of, now=START)
    sweep_of.take([kept(f"uid-{number}", 0) for number in range(100)])
    assert (sweep_of.end(), asked) == ([], ["Thing"])


async def test_a_sweep_goes_through_all_pages(tmp_path: Path) -> None:
    async with open_plane(Settings(data=tmp_path / "plane", port=0, operators=frozenset())) as plane:
        client: Client = plane.client
        await install(client, KINDS)
        life = Life(Here())
        life.settle()
        (record,) = life.history.values()
        for number in range(620):
            await client.create(
                RECONCILIATION.kind.path("default"), entry_object(Record(f"e-{number:03d}", record.spec), "default")
            )
        assert await sweep_history(client, lambda _: Keep(entries=20), now=START) == 600
        assert len((await client.list(RECONCILIATION.kind.path("default")))[0]) == 20


async def test_an_operator_of_one_namespace_sweeps_no_other(tmp_path: Path) -> None:
    async with open_plane(Settings(data=tmp_path / "plane", port=0, operators=frozenset())) as plane:
        client: Client = plane.client
        await install(client, KINDS)
        life = Life(Here())
        life.settle()
        (record,) = life.history.values()
        for namespace in ("default", "kube-system"):
            for number in range(3):
                body = entry_object(Record(f"e-{number}", record.spec), namespace)
                await client.create(RECONCILIATION.kind.path(namespace), body)
        assert await sweep_history(client, lambda _: Keep(entries=1), now=START, namespace="default") == 2
        assert len((await client.list(RECONCILIATION.kind.path("kube-system")))[0]) == 3


def declared(name: str, kept_entries: int) -> ResourceType:
    spec = ResourceTypeSpec(name=name, history=Keep(entries=kept_entries))
    return ResourceType(metadata=Metadata(name=name.lower()), spec=spec)


@pytest.mark.parametrize(
    ("kind", "expected"),
    [("database-cluster", 200), ("DatabaseCluster", 200), ("Queue", 9), ("Gone", Keep().entries)],
    ids=["as-the-type-is-called", "as-the-kind-is-called", "of-several-the-most", "without-a-type"],
)
def test_what_is_kept_goes_by_the_type_in_force_or_not(kind: str, expected: int) -> None:
    types = [declared("database-cluster", 200), declared("Queue", 7), declared("queue", 9)]
    controls = ResourceControls(None, types, ActionSettings())  # type: ignore[arg-type]
    assert controls.keep_of(kind).entries == expected


async def test_a_server_that_is_away_does_not_end_the_sweeping(caplog: pytest.LogCaptureFixture) -> None:
    sweeping = asyncio.create_task(sweep_regularly(Client(Nowhere()), lambda _: Keep(), every_s=0.01))
    await eventually(lambda: len(caplog.records) >= 2)
    assert {each.message for each in caplog.records} == {"failed to delete old history"}
    assert not sweeping.done()
    sweeping.cancel()

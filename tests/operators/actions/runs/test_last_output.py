"""Which run is the last one, by what there is of it: its own output, the record, or both."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from homeostat.client.base import Client
from homeostat.operators.actions.api import KINDS, RECONCILIATION, ReconciliationSpec, Resource, ResourceStatus
from homeostat.operators.actions.runs.history import Record, entry_name, entry_object
from homeostat.operators.actions.runs.last_output import last_output
from homeostat.operators.actions.runs.output import publishing
from homeostat.operators.actions.runs.run import Purpose, Run
from homeostat.runtime.installation import install
from homeostat.testing.eventually import eventually
from homeostat.testing.plane import open_test_plane
from tests.operators.actions.runs.test_output import KIND, shown_of, thing


@pytest.fixture
async def client(tmp_path: Path) -> AsyncIterator[Client]:
    async with open_test_plane(tmp_path / "plane") as plane:
        await install(plane.client, KINDS)
        yield plane.client


async def print_slowly(client: Client, resource: Resource, number: int, began: str) -> None:
    run = Run(ticket=f"u-{number}", purpose="apply", trigger="initial", digest="", generation=number, began=began)
    async with publishing(client, KIND, resource, run, scrub=str, every_s=0.01) as own:
        own.add(f"run {number}\n")
        await eventually(lambda: shown_of(client, resource), lambda spec: spec.get("ticket") == run.ticket)


async def record(
    client: Client, resource: Resource, started: str, *, purpose: Purpose | None, ticket: str = "", printed: str = ""
) -> None:
    spec = ReconciliationSpec(
        resource_kind="Thing",
        resource_version="v1",
        resource_name=resource.metadata.name,
        resource_uid=resource.metadata.uid,
        generation=1,
        trigger="initial",
        purpose=purpose,
        ticket=ticket,
        is_success=True,
        phase="completed",
        plan_output="the plan",
        apply_output=printed,
        started=started,
        finished=started,
    )
    body = entry_object(Record(entry_name(resource, 1), spec), "default")
    await client.fetch("POST", RECONCILIATION.kind.path("default"), body=body)


ONE_RECORDED = ResourceStatus(sequence=1, reconciliations=1)


async def test_a_recorded_run_is_shown_with_its_own_output(client: Client) -> None:
    await print_slowly(client, thing(), 1, "2026-01-01T00:00:01.000000Z")
    await record(client, thing(), "2026-01-01T00:00:01.000000Z", purpose="apply", ticket="u-1", printed="quick")
    told = await last_output(client, thing(), ONE_RECORDED)
    assert (told.run, told.state, told.text) == ("u-1", "succeeded", "run 1\n")


async def test_a_later_run_that_only_planned_is_the_last_one(client: Client) -> None:
    await print_slowly(client, thing(), 1, "2026-01-01T00:00:01.000000Z")
    await record(client, thing(), "2026-01-01T00:00:09.000000Z", purpose="plan")
    told = await last_output(client, thing(), ONE_RECORDED)
    assert (told.run, told.purpose, told.text) == (entry_name(thing(), 1), "plan", "the plan\n")


async def test_an_apply_that_printed_nothing_does_not_show_the_plan_before_it(client: Client) -> None:
    await record(client, thing(), "2026-01-01T00:00:01.000000Z", purpose="apply", ticket="u-1")
    told = await last_output(client, thing(), ONE_RECORDED)
    assert (told.run, told.state, told.text) == ("u-1", "succeeded", "")


async def test_a_run_that_never_came_into_the_record_is_lost(client: Client) -> None:
    await record(client, thing(), "2026-01-01T00:00:01.000000Z", purpose="apply", ticket="u-1", printed="one")
    await print_slowly(client, thing(), 2, "2026-01-01T00:00:09.000000Z")
    told = await last_output(client, thing(), ResourceStatus(sequence=2, reconciliations=1))
    assert (told.run, told.state, told.generation, told.text) == ("u-2", "lost", 2, "run 2\n")


async def test_a_record_without_its_purpose_is_shown_all_the_same(client: Client) -> None:
    await record(client, thing(), "2026-01-01T00:00:01.000000Z", purpose=None, printed="one")
    told = await last_output(client, thing(), ONE_RECORDED)
    assert (told.purpose, told.state, told.text) == (None, "succeeded", "one\n")


async def test_before_the_first_run_there_is_none(client: Client) -> None:
    told = await last_output(client, thing(), ResourceStatus())
    assert (told.run, told.state, told.text) == ("", "none", "")

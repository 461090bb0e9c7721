"""What a run prints can be read while it runs: whole lines, no secrets, and nothing that the run would notice."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from homeostat.client.base import Client
from homeostat.external.secrets.secrets import Secrets
from homeostat.objects.decision import Wait
from homeostat.objects.json import JsonObject
from homeostat.operators.actions.api import KINDS, RUN_OUTPUT, Resource, ResourceTypeSpec
from homeostat.operators.actions.runs.history import record_name
from homeostat.operators.actions.runs.output import Printed, end_of, publishing
from homeostat.operators.actions.runs.run import LONGEST_TEXT, Run
from homeostat.operators.actions.types.naming import resource_kind
from homeostat.runtime.installation import install
from homeostat.testing.eventually import eventually
from homeostat.testing.plane import open_test_plane
from tests.operators.actions.lifecycle import Here, Life
from tests.operators.actions.real_plugin import Nowhere

SECRET = "open-sesame"
RUN = Run(ticket="u-1-1", purpose="apply", trigger="initial", digest="", generation=1, began="2026-01-01T00:00:00Z")
KIND = resource_kind(ResourceTypeSpec(name="Thing"))


def printed() -> Printed:
    secrets = Secrets({})
    secrets.hide(SECRET)
    return Printed(secrets.scrub)


@given(st.lists(st.sampled_from(["a", "open", "-sesame", SECRET, "\n", "x" * 20_000, "é"]), max_size=30), st.data())
def test_in_whatever_pieces_it_comes_no_secret_is_shown_and_nothing_else_is_lost(
    words: list[str], data: st.DataObject
) -> None:
    text = "".join(words)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=8)))
    shown = printed()
    for start, end in zip([0, *cuts], [*cuts, len(text)], strict=True):
        shown.add(text[start:end])
        assert SECRET not in shown.text
        assert shown.text in ("", "\n") or shown.text.endswith("\n")
    shown.end()
    if max(map(len, text.split("\n"))) <= 60_000:
        whole = text if text.endswith("\n") or not text else f"{text}\n"
        expected = whole.replace(SECRET, "***")
        assert (shown.text, shown.length) == (end_of(expected), len(expected))


def test_of_much_the_end_is_kept_from_where_a_line_begins() -> None:
    shown = printed()
    for number in range(10_000):
        shown.add(f"line {number}\n")
    lines = shown.text.splitlines()
    assert (lines[-1], LONGEST_TEXT - 10 <= len(shown.text) <= LONGEST_TEXT) == ("line 9999", True)
    assert all(each.startswith("line ") for each in lines)


def test_of_a_line_without_an_end_no_part_is_shown() -> None:
    shown = printed()
    shown.add("x" * 70_000 + SECRET[:6])
    shown.add(f"{SECRET[6:]}\nnext\n")
    assert shown.text == "(a line of more than 65536 characters)\nnext\n"


@pytest.fixture
async def client(data: Path) -> AsyncIterator[Client]:
    async with open_test_plane(data) as plane:
        await install(plane.client, KINDS)
        yield plane.client


def thing() -> Resource:
    life = Life(Here())
    life.obj["metadata"]["namespace"] = "default"
    return life.resource


async def shown_of(client: Client, resource: Resource) -> JsonObject:
    items, _ = await client.list(RUN_OUTPUT.kind.path("default"))
    found = {each["metadata"]["name"]: each["spec"] for each in items}
    spec: JsonObject = found.get(record_name(resource), {})
    return spec


async def test_it_is_written_while_the_run_continues_and_at_its_end(client: Client) -> None:
    resource = thing()
    async with publishing(client, KIND, resource, RUN, scrub=str, every_s=0.01) as own:
        own.add("one\ntw")
        spec = await eventually(lambda: shown_of(client, resource), lambda spec: spec)
        assert (spec["text"], spec["length"], spec["ticket"]) == ("one\n", 4, "u-1-1")
        own.add("o\n")
        await eventually(lambda: shown_of(client, resource), lambda spec: spec["text"] == "one\ntwo\n")
        own.add("three")
    assert (await shown_of(client, resource))["text"] == "one\ntwo\nthree\n"
    assert (await shown_of(client, resource))["isEnded"]


async def test_of_a_run_that_is_quick_nothing_is_written(client: Client) -> None:
    async with publishing(client, KIND, thing(), RUN, scrub=str) as own:
        own.add("one\n")
    assert await shown_of(client, thing()) == {}


async def test_a_run_does_not_notice_that_nothing_can_be_written() -> None:
    async with publishing(Client(Nowhere()), KIND, thing(), RUN, scrub=str, every_s=0.001) as own:
        own.add("one\n")
        await asyncio.sleep(0.02)
        own.add("two\n")


async def test_what_a_run_raises_comes_out_as_it_is(client: Client) -> None:
    with pytest.raises(Wait):
        async with publishing(client, KIND, thing(), RUN, scrub=str):
            raise Wait("Later", timedelta(seconds=1))

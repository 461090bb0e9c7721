"""Looks at an input while types come and go, and sources that break."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from homeostat.client.base import Client
from homeostat.objects.declared import Metadata
from homeostat.objects.kind import Kind
from homeostat.operators.actions.api import RESOURCES
from homeostat.operators.actions.inputs.api import ResourceInput, ResourceInputSpec
from homeostat.operators.actions.inputs.decide import FeedWorld, ReadFailure, Remove, SourceWorld
from homeostat.operators.actions.inputs.jobs import InputDependencies
from homeostat.operators.actions.inputs.operator import InputOperator
from homeostat.operators.actions.inputs.plugins.plugin import InputJob
from homeostat.operators.actions.inputs.plugins.reading import Declaration, Reading
from homeostat.operators.actions.plugins.catalog import Catalog
from tests.operators.actions.inputs.input_plane import InputPlane

THING = Kind(RESOURCES, "v1", "things", "Thing", is_namespaced=True)
ONE = Declaration(kind="Thing", version="v1", name="a", body={"spec": {"text": "x"}}, source="f")


class Config(msgspec.Struct, frozen=True):
    pass


class Notes:
    name, version, config = "notes", "1.0.0", Config

    def __init__(self, *answers: Reading | Exception | None) -> None:
        self._answers = iter(answers)
        self.known: list[str] = []

    async def read(self, job: InputJob[Any]) -> Reading | None:
        self.known.append(job.known)
        answer = next(self._answers)
        if isinstance(answer, Exception):
            raise answer
        return answer


OBJ = ResourceInput(metadata=Metadata("shop", "default", uid="u"), spec=ResourceInputSpec(plugin="notes"))


def operator(client: Client, plugin: Notes, kinds: Iterator[dict[str, Kind]] | None = None) -> InputOperator:
    dependencies = InputDependencies(
        client=client,
        plugins=Catalog({"notes": plugin}, {}),
        directory=Path("/nonexistent"),
        kinds=(lambda: next(kinds)) if kinds is not None else lambda: {"Thing": THING},
    )
    return InputOperator(dependencies, lambda _: FeedWorld(is_connected=False, trouble=None, taken=0, rejected=0))


async def test_a_type_that_appears_during_a_reconciliation_counts_at_the_next(plane: InputPlane) -> None:
    kinds = iter([{}, {"Thing": THING}, {"Thing": THING}])
    looker = operator(plane.client, Notes(Reading(revision="1", declarations=(ONE,)), None), kinds)
    decision = looker.decide(OBJ, await looker.observe(OBJ))
    assert (decision.actions, decision.status["failed"]) == ((), 1)
    (write,) = looker.decide(OBJ, await looker.observe(OBJ)).actions
    await looker.act(OBJ, write)
    assert await plane.things() == {"a": "x"}


async def test_a_type_that_goes_during_a_reconciliation_takes_its_resources_with_it(plane: InputPlane) -> None:
    looker = operator(plane.client, Notes(), iter([{}]))
    await looker.act(OBJ, Remove((("Thing", "a", "uid"),)))


async def test_a_source_learns_what_was_read_and_forgotten_inputs_are_read_again(plane: InputPlane) -> None:
    plugin = Notes(Reading(revision="1"), None, Reading(revision="2"), Reading(revision="3"))
    looker = operator(plane.client, plugin)
    for _ in range(3):
        await looker.observe(OBJ)
    looker.forget_others(set())
    await looker.observe(OBJ)
    assert plugin.known == ["", "1", "1", ""]


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (ValueError("a bug"), "PluginBroke"),
        (TimeoutError(), "Unavailable"),
        (None, "PluginBroke"),
        (Reading(revision="1", declarations=(ONE,) * 20_001), "SourceTooLarge"),
    ],
    ids=["bug", "timeout", "odd", "large"],
)
async def test_whatever_a_plugin_does_nothing_is_known_then(
    plane: InputPlane, answer: Reading | Exception | None, reason: str
) -> None:
    world = await operator(plane.client, Notes(answer)).observe(OBJ)
    assert isinstance(world, SourceWorld)
    assert isinstance(world.reading, ReadFailure)
    assert (world.reading.reason, world.live) == (reason, {})

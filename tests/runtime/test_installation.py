"""Definitions on their way onto a server, in virtual time. That a real one takes them is for all other tests."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from homeostat.client.base import Client, Response
from homeostat.objects.errors import UnavailableError
from homeostat.objects.json import JsonObject, encode
from homeostat.objects.kind import DEFINITION
from homeostat.operators.catalog import OURS, find_operator
from homeostat.plane import Settings, open_plane
from homeostat.runtime.installation import install, install_definitions, is_as_applied
from homeostat.testing.clock import virtual_time
from tests.runtime.widgets import KINDS
from tests.runtime.wire import Sent, Wire

PATH = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/widgets.shop.example"

OURS_APPLIED = {"manager": "homeostat", "operation": "Apply"}


def definition(**conditions: str) -> JsonObject:
    listed = [{"type": each, "status": status, "message": f"{each} is {status}"} for each, status in conditions.items()]
    return {"metadata": {"name": "widgets.shop.example"}, "status": {"conditions": listed}}


@virtual_time
async def test_it_returns_when_the_server_has_established_the_kind() -> None:
    loop = asyncio.get_running_loop()
    wire = Wire()
    wire.answer = Response(200, encode(definition()))
    wire.objects[PATH] = definition(NamesAccepted="True")
    installing = asyncio.create_task(install(Client(wire), KINDS))
    await asyncio.sleep(10)
    assert not installing.done()
    wire.objects[PATH] = definition(NamesAccepted="True", Established="True")
    await installing
    assert loop.time() < 11
    assert wire.sent[:2] == [Sent("GET", PATH), Sent("PATCH", PATH)]


@virtual_time
async def test_what_is_established_already_is_not_waited_for() -> None:
    wire = Wire()
    wire.answer = Response(200, encode(definition(Established="True")))
    await install(Client(wire), KINDS)
    assert wire.sent == [Sent("GET", PATH), Sent("PATCH", PATH)]


def as_stored(**changes: JsonObject) -> JsonObject:
    """The definition as a server has it after it was applied."""
    wanted = KINDS[0].definition()
    names = {"listKind": "WidgetList", "singular": "widget"} | wanted["spec"]["names"]
    spec = {"conversion": {"strategy": "None"}, **wanted["spec"], "names": names}
    metadata = {**wanted["metadata"], "managedFields": [OURS_APPLIED]}
    conditions = definition(Established="True")["status"]
    found = {**wanted, "metadata": metadata, "spec": spec, "status": conditions}
    return {**found, **{name: {**found[name], **change} for name, change in changes.items()}}


@virtual_time
async def test_a_definition_that_is_there_already_is_not_applied_again() -> None:
    wire = Wire()
    wire.objects[PATH] = as_stored()
    await install(Client(wire), KINDS)
    assert wire.sent == [Sent("GET", PATH)]


@pytest.mark.parametrize(
    "changes",
    [
        {"spec": {"versions": []}},
        {"spec": {"conversion": {"strategy": "Webhook"}}},
        {"spec": {"names": {"plural": "widgets", "kind": "Widget", "shortNames": ["w"]}}},
        {"spec": {"preserveUnknownFields": True}},
        {"metadata": {"managedFields": [{"manager": "kubectl", "operation": "Apply"}]}},
        {"metadata": {"managedFields": [{**OURS_APPLIED, "fieldsV1": {"f:metadata": {"f:labels": {"f:old": {}}}}}]}},
        {"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}},
        {"status": {"conditions": [{"type": "Established", "status": "False"}]}},
    ],
    ids=[
        "schema",
        "conversion",
        "names",
        "unknown fields",
        "manager",
        "a label of ours",
        "deletion",
        "not established",
    ],
)
@virtual_time
async def test_a_definition_that_differs_is_applied(changes: dict[str, JsonObject]) -> None:
    wire = Wire()
    wire.objects[PATH] = as_stored(**changes)
    wire.answer = Response(200, encode(definition(Established="True")))
    await install(Client(wire), KINDS)
    assert wire.sent == [Sent("GET", PATH), Sent("PATCH", PATH)]


async def test_a_restarted_plane_applies_no_definition_again(tmp_path: Path) -> None:
    settings = Settings(data=tmp_path, port=0, is_open=True, operators=frozenset())
    async with open_plane(settings) as plane:
        for name in sorted(OURS):
            await install_definitions(plane.client, find_operator(name).definitions())
    async with open_plane(settings) as plane:
        for definition in (each for name in sorted(OURS) for each in find_operator(name).definitions()):
            found = await plane.client.get(DEFINITION.path("", definition["metadata"]["name"]))
            assert is_as_applied(found, definition), definition["metadata"]["name"]


@pytest.mark.parametrize(
    ("found", "told"),
    [
        (definition(NamesAccepted="False", Established="False"), "NamesAccepted is False; Established is False"),
        (definition(), "the server gives no reason"),
        ({"metadata": {"name": "widgets.shop.example"}}, "the server gives no reason"),
    ],
    ids=["names are taken", "no condition", "no status"],
)
@virtual_time
async def test_a_kind_that_is_not_established_is_reported_with_the_reason(found: JsonObject, told: str) -> None:
    wire = Wire()
    wire.answer, wire.objects[PATH] = Response(200, encode(found)), found
    with pytest.raises(UnavailableError, match=f"not established after 30 s: {told}"):
        await install(Client(wire), KINDS)

"""Definitions on their way onto a server, in virtual time. That a real one takes them is for all other tests."""

from __future__ import annotations

import asyncio

import pytest

from homeostat.client.base import Client, Response
from homeostat.objects.errors import UnavailableError
from homeostat.objects.json import JsonObject, encode
from homeostat.runtime.installation import install
from homeostat.testing.clock import virtual_time
from tests.runtime.widgets import KINDS
from tests.runtime.wire import Sent, Wire

PATH = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/widgets.shop.example"


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
    assert wire.sent[0] == Sent("PATCH", PATH)


@virtual_time
async def test_what_is_established_already_is_not_waited_for() -> None:
    wire = Wire()
    wire.answer = Response(200, encode(definition(Established="True")))
    await install(Client(wire), KINDS)
    assert wire.sent == [Sent("PATCH", PATH)]


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
async def test_a_kind_that_is_not_established_is_told_with_the_reason(found: JsonObject, told: str) -> None:
    wire = Wire()
    wire.answer, wire.objects[PATH] = Response(200, encode(found)), found
    with pytest.raises(UnavailableError, match=f"not established after 30 s: {told}"):
        await install(Client(wire), KINDS)

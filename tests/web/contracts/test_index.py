"""The index of Pactos: a long list holds up nobody."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import Any

import pytest

from homeostat.objects.json import encode
from homeostat.operators.contracts.api import KINDS, PACTO
from homeostat.operators.contracts.engine.services.instance import read_instance
from homeostat.plane import Plane
from homeostat.runtime.background import background
from homeostat.runtime.installation import install
from homeostat.web.contracts import index as index_module
from homeostat.web.contracts.index import ServiceIndex
from tests.holds import measured_turns

MANY, PORTION = 40, 5


async def test_a_list_is_read_in_portions_and_is_complete_when_it_is_synced(
    plane: Plane, monkeypatch: pytest.MonkeyPatch
) -> None:
    await install(plane.client, KINDS)
    kind, loop = PACTO.kind, asyncio.get_running_loop()
    for number in range(MANY):
        body = {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": {"name": f"p{number}"}}
        spec = {"contractRef": {"inline": "x"}, "target": {"serviceName": f"s{number}"}}
        await plane.client.create(kind.path("default"), {**body, "spec": spec})
    reads, turn, is_over = Counter[int](), 0, False

    def tick() -> None:
        nonlocal turn
        turn += 1
        if not is_over:
            loop.call_soon(tick)

    def counted(*given: Any, **named: Any) -> Any:
        reads[turn] += 1
        return read_instance(*given, **named)

    monkeypatch.setattr(index_module, "PORTION", PORTION)
    monkeypatch.setattr(index_module, "read_instance", counted)
    index = ServiceIndex(plane.client)
    tick()
    async with background(index.run()):
        await index.synced()
        assert index.is_synced
        assert sum(len(each.instances) for each in (await index.view(None)).services.values()) == MANY
        assert sum(len(each.instances) for each in (await index.view(frozenset({"default"}))).services.values()) == MANY
    is_over = True
    assert max(reads.values()) <= 2 * PORTION, "one portion by the reader, one by who waits for it"


async def test_a_first_view_of_dense_contracts_is_made_in_slices(plane: Plane) -> None:
    """A catalogue of what 150 services with 300 dependencies each require takes 70 ms, and each caller may have one."""
    index, needed = ServiceIndex(plane.client), [f"s{at}" for at in range(300)]
    dependencies = [{"name": each, "ref": f"oci://r.example/c/{each}:1", "required": True} for each in needed]
    for name in needed[:150]:
        status = {"contractStatus": "Compliant", "contract": {"serviceName": name}, "dependencies": dependencies}
        index.show_unbound(read_instance("", name, status=encode(status)))
    async with measured_turns() as turns:
        views = await asyncio.gather(*(index.view(frozenset({f"n{at}"})) for at in range(3)))
    assert [len(each) for each in views] == [150] * 3
    assert turns.longest_s < 0.04

"""The index of Pactos: a long list holds up nobody."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import Any

import pytest

from homeostat.operators.contracts.api import KINDS, PACTO
from homeostat.operators.contracts.engine.services.instance import read_instance
from homeostat.plane import Plane
from homeostat.runtime.background import background
from homeostat.runtime.installation import install
from homeostat.web.contracts import index as index_module
from homeostat.web.contracts.index import ServiceIndex

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
        assert sum(len(each.instances) for each in index.view(None).services.values()) == MANY
        assert sum(len(each.instances) for each in index.view(frozenset({"default"})).services.values()) == MANY
    is_over = True
    assert max(reads.values()) <= 2 * PORTION, "one portion by the reader, one by who waits for it"

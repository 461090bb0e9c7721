"""The soak, for a few seconds: it sees what it is there to see."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from benchmarks.soak.attacks import ATTACKS, Attack
from benchmarks.soak.honest import Known, Watcher, Writer, lost_writes
from benchmarks.soak.probe import Sample
from benchmarks.soak.soak import Bounds, Result, Scale, soak
from benchmarks.soak.turns import Turn
from homeostat.client.base import Client, Response


def attacks(rounds: int) -> list[Attack]:
    return [Attack("pipelining", float(each), each + 1.0, "16 answers") for each in range(rounds)]


def memory(mib: list[float]) -> list[tuple[float, float]]:
    """One sample in each second."""
    return [(each + 0.5, found) for each, found in enumerate(mib)]


def result(**changes: Any) -> Result:
    good: dict[str, Any] = {
        "attacks": attacks(8),
        "samples": [Sample(1.5, 3.0)],
        "idle": [Sample(1.5, 2.0)],
        "memory": memory([80.0] * 8),
        "failures": 0,
        "acknowledged": 5,
        "refused": 0,
        "lost": 0,
        "gaps": 0,
        "faults": [],
    }
    return Result(**(good | changes))


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({}, []),
        (
            {"samples": [Sample(1.5, 103.0)]},
            ["/readyz p99 is 103 ms, 101 ms above that of an idle plane; the bound is 100 ms"],
        ),
        ({"samples": [Sample(1.5, 301.0)], "idle": [Sample(1.5, 250.0)]}, []),
        ({"memory": memory([80.0] * 6 + [180.0] * 2)}, ["memory grew by 100 MiB; the bound is 24 MiB"]),
        ({"memory": memory([80.0] * 4 + [180.0] * 4)}, []),
        (
            {"memory": memory([80.0, 80.0, 180.0]), "attacks": attacks(3)},
            ["memory grew by 100 MiB; the bound is 24 MiB"],
        ),
        ({"memory": memory([80.0, 180.0]), "attacks": attacks(2)}, []),
        ({"skipped": ["any-of"]}, ["never ran: any-of; give the soak more minutes"]),
        (
            {"turns": [Turn(1.5, 180.0, 0.0, 0.0, ["json.py:1 decode"])]},
            ["a turn of the event loop took 180 ms of CPU, at json.py:1 decode; the bound is 100 ms"],
        ),
        ({"turns": [Turn(9.0, 180.0, 0.0, 0.0, [])]}, []),
        ({"turns": [Turn(1.5, 180.0, 0.0, 0.0, [], stolen_ms=90.0)]}, []),
        ({"turns": [Turn(1.5, 180.0, -170.0, 0.0, []), Turn(1.5, 180.0, 0.0, 0.0, [], wall_ms=90.0)]}, []),
        ({"attacks": [Attack("any-of", 1.0, 2.0, "500")]}, ["answered with 500: any-of"]),
        ({"failures": 2}, ["/readyz failed 2 times"]),
        ({"lost": 1}, ["1 acknowledged writes are lost"]),
        ({"gaps": 3}, ["the watch missed 3 writes; in order"]),
        ({"faults": ["revision 7 expired"]}, ["the watch missed 0 writes; revision 7 expired"]),
    ],
    ids=[
        "all hold",
        "slow",
        "slow machine",
        "memory",
        "warm-up",
        "three rounds",
        "few rounds",
        "no time",
        "long turn",
        "turn after",
        "stolen time",
        "jump of a clock",
        "error",
        "not ready",
        "lost",
        "gap",
        "expired",
    ],
)
def test_each_bound_can_be_broken(changes: dict[str, Any], said: list[str]) -> None:
    assert result(**changes).broken(Bounds()) == said


def test_rounds_are_those_in_which_all_attacks_ran() -> None:
    ran = [Attack("ab"[at % 2], float(at), at + 1.0, "200") for at in range(5)]
    assert result(attacks=ran, memory=memory([80.0, 90.0, 100.0, 120.0, 500.0])).rounds == [85.0, 110.0]
    assert result(attacks=ran, skipped=["c"]).rounds == []


def test_a_probe_counts_for_the_attack_that_ran_meanwhile() -> None:
    attacks = [Attack("a", 1.0, 2.0, "200"), Attack("b", 5.0, 6.0, "200")]
    found = result(attacks=attacks, samples=[Sample(0.5, 1000.0), Sample(3.0, 2.0), Sample(5.5, 4.0)])
    assert (found.during("a"), found.during("b")) == ([1000.0], [4.0])


class Listed:
    """A server that has these objects."""

    def __init__(self, **texts: str) -> None:
        self._texts = texts

    async def send(self, method: str, path: str, **_: Any) -> Response:
        items = ",".join(
            f'{{"metadata":{{"name":"{name}"}},"data":{{"text":"{text}"}}}}' for name, text in self._texts.items()
        )
        return Response(200, f'{{"metadata":{{"resourceVersion":"1"}},"items":[{items}]}}'.encode())

    async def stream(self, path: str, *, query: str = "", accept: str = "") -> Response:
        return Response(404, b"{}")


@pytest.mark.parametrize(
    ("known", "lost"),
    [
        (Known("new"), 0),
        (Known("newer"), 1),
        (Known(None), 1),
        (Known("older", maybe=["new"]), 0),
    ],
)
async def test_a_write_that_was_acknowledged_and_is_not_there_is_lost(known: Known, lost: int) -> None:
    client = Client(Listed(a="new"))
    assert await lost_writes(client, [Writer(client, 0, known={"a": known})]) == lost


async def test_a_watch_out_of_order_is_a_fault() -> None:
    watcher = Watcher(Client(Listed()))
    watcher._note("ADDED", 5)
    watcher._note("BOOKMARK", 9)
    watcher._note("MODIFIED", 7)
    assert watcher.faults == ["MODIFIED 7 came after 9"]


def test_a_soak_of_seconds_sees_attacks_writes_and_memory() -> None:
    names = ("pipelining", "json-patch-copies", "idle-lists", "slow-body", "hanging-webhooks", "yaml-crowd")
    assert set(names) < set(ATTACKS)
    found = asyncio.run(soak(Scale(3.0, writers=2, large=2, names=names)))
    assert {each.name for each in found.attacks} <= set(names)
    assert found.attacks
    assert found.acknowledged > 0
    assert (found.lost, found.gaps, found.faults) == (0, 0, [])
    assert len(found.samples) == len(found.memory) > 5
    assert len(found.idle) > 5
    assert min(mib for _, mib in found.memory) > 20

"""A large payload holds up nobody: the event loop is that of the plane."""

from __future__ import annotations

import asyncio
import json
import weakref
from itertools import pairwise
from typing import Any

import pytest

from homeostat.edge import turn
from homeostat.operators.sync.offload import LARGE_BYTES, MOST_VALUES, is_large, release
from tests.holds import measured_turns
from tests.operators.sync.run.hostile import Answer, hostile_server
from tests.operators.sync.run.syncing import Policy, became

LARGE = {"id": "a", "x": {f"k{number}": f"v{number}" for number in range(100_000)}}


async def test_a_large_file_beside_a_large_object_holds_the_event_loop_for_less_than_150_ms() -> None:
    there, changed = json.dumps({**LARGE, "y": 1}).encode(), json.dumps({**LARGE, "y": 2}).encode()

    def behave(method: str, path: str, body: Any) -> Answer:
        return Answer(body=there if method == "GET" and path == "/t/a" else b"{}")

    async with hostile_server(behave) as server:
        policy = Policy(server.url, timeout_s=60)
        async with measured_turns() as turns:
            report = await policy.sync({"t/a/resource.json": changed})
    assert became(report) == {"/t/a": "updated"}
    assert turns.longest_s < 0.15, "on the loop, a pass over all values takes 0.3 s, and there are several"


async def test_a_small_file_of_aliases_is_refused_and_holds_up_nobody() -> None:
    lines = [
        "a0: &a0 [x, x, x, x, x, x, x, x, x]",
        *(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 12)),
    ]
    async with hostile_server(lambda method, path, body: Answer(body=b"{}")) as server, measured_turns() as turns:
        report = await Policy(server.url, timeout_s=60).sync({"t/a/resource.yaml": "\n".join(lines).encode()})
    assert became(report) == {"/t/a": "failed"}
    assert turns.longest_s < 0.1, "on the loop, the values that they stand for take 0.2 s"


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, False),
        ({"a": [1] * (MOST_VALUES - 1)}, False),
        ({"a": [1] * MOST_VALUES}, True),
        ({"a": [[{}] * 1000] * 3}, True),
        ("x" * LARGE_BYTES, False),
        ([b"x" * (LARGE_BYTES + 1)], True),
        # An alias of YAML stands for any number of values.
        ([b"a: &a [1]\nb: *a\n"], True),
        (["*"], False),
    ],
)
def test_a_value_is_large_by_its_values_or_its_texts(value: Any, expected: bool) -> None:
    assert is_large(value) is expected


async def test_what_a_sync_held_is_freed_in_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    class Part:
        pass

    monkeypatch.setattr(turn, "TURN_S", 0.0)
    held: list[Part] = [Part() for _ in range(2000)]
    left = weakref.WeakSet(held)
    counts = list[int]()
    releasing = asyncio.ensure_future(release(held))
    while not releasing.done():
        counts.append(len(left))
        await asyncio.sleep(0)
    assert (counts[0], len(left)) == (2000, 0)
    assert max(before - after for before, after in pairwise(counts)) <= 500

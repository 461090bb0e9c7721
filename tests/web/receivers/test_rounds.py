"""Work that is requested while it runs."""

from __future__ import annotations

import asyncio

import pytest

from homeostat.web.receivers.rounds import Rounds


async def test_requests_during_a_round_share_the_next_one() -> None:
    started: list[str] = []
    gate = asyncio.Event()

    async def work(key: str) -> int:
        started.append(key)
        await gate.wait()
        return len(started)

    rounds = Rounds(work)
    first = asyncio.create_task(rounds.run("a"))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    later = [asyncio.create_task(rounds.run("a")) for _ in range(9)]
    other = asyncio.create_task(rounds.run("b"))
    for _ in range(3):
        await asyncio.sleep(0)
    assert started == ["a", "b"]
    gate.set()
    await asyncio.gather(first, other, *later)
    assert started == ["a", "b", "a"]
    assert not rounds._rounds


async def test_a_failure_reaches_all_who_share_the_round_and_not_the_next() -> None:
    count = 0

    async def work(key: str) -> int:
        nonlocal count
        count += 1
        await asyncio.sleep(0)
        if count == 1:
            raise OSError(key)
        return count

    rounds = Rounds(work)
    with pytest.raises(OSError, match="a"):
        await rounds.run("a")
    assert await rounds.run("a") == 2


async def test_closing_ends_all_rounds() -> None:
    async def work(key: str) -> int:
        await asyncio.Event().wait()
        return 0

    rounds = Rounds(work)
    waiting = asyncio.create_task(rounds.run("a"))
    await asyncio.sleep(0.01)
    await rounds.close()
    with pytest.raises(asyncio.CancelledError):
        await waiting

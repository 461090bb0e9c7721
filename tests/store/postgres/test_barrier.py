"""One question for all who wait, and never one that was asked before they came."""

from __future__ import annotations

import asyncio

import pytest

from homeostat.store.base import LostError, StoreError, UnreachableError
from homeostat.store.postgres.barrier import Barrier


class Oracle:
    """Answers with the number of the question, when released."""

    def __init__(self) -> None:
        self.asked = 0
        self.may_answer = asyncio.Semaphore(0)
        self.error: Exception | None = None

    async def __call__(self) -> int:
        self.asked += 1
        number = self.asked
        await self.may_answer.acquire()
        if self.error is not None:
            raise self.error
        return number


async def test_those_who_come_while_a_question_is_on_its_way_share_the_next() -> None:
    oracle = Oracle()
    barrier = Barrier(oracle)
    first = [barrier.wait() for _ in range(3)]
    await asyncio.sleep(0)
    later = [barrier.wait() for _ in range(50)]
    oracle.may_answer.release()
    oracle.may_answer.release()

    assert await asyncio.gather(*first) == [1] * 3
    assert await asyncio.gather(*later) == [2] * 50
    assert oracle.asked == 2


async def test_one_who_gives_up_does_not_disturb_the_others() -> None:
    oracle = Oracle()
    barrier = Barrier(oracle)
    waiting = [barrier.wait() for _ in range(3)]
    await asyncio.sleep(0)
    waiting[1].cancel()
    oracle.may_answer.release()

    assert [await waiting[0], await waiting[2]] == [1, 1]


@pytest.mark.parametrize(
    ("error", "told"),
    [
        pytest.param(UnreachableError("away"), UnreachableError, id="away"),
        pytest.param(LostError("behind"), LostError, id="lost"),
        pytest.param(StoreError("altered"), UnreachableError, id="unreadable"),
    ],
)
async def test_a_failure_reaches_each_waiter_and_the_next_question_is_asked(
    error: StoreError, told: type[StoreError]
) -> None:
    oracle = Oracle()
    barrier = Barrier(oracle)
    oracle.error = error
    waiting = [barrier.wait() for _ in range(2)]
    oracle.may_answer.release()
    errors = await asyncio.gather(*waiting, return_exceptions=True)

    assert [type(each) for each in errors] == [told] * 2
    assert errors[0] is not errors[1]
    oracle.error = None
    oracle.may_answer.release()
    assert await barrier.wait() == 2

"""Questions and writes of a pass: some are under way together, and their number does not hold the event loop.

A pass may be over thousands of Deployments, and most of its questions are answered from memory, without a wait.
All passes share a turn.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterable
from typing import TypeVar

from homeostat.edge.turn import Turn

T = TypeVar("T")


async def answers(questions: Iterable[Coroutine[object, object, T]], *, at_once: int, turn: Turn) -> list[T]:
    """In the order of the questions. The first error ends all. A question is taken when it is asked."""
    found, waiting = dict[int, T](), enumerate(questions)

    async def work() -> None:
        for number, question in waiting:
            found[number] = await question
            await turn.pause()

    try:
        async with asyncio.TaskGroup() as tasks:
            for _ in range(at_once):
                tasks.create_task(work())
    except BaseExceptionGroup as errors:
        raise errors.exceptions[0] from None
    return [found[number] for number in range(len(found))]

from __future__ import annotations

import asyncio
from typing import Any

from homeostat.edge.connection.turns import Turns


class _Answers:
    def __init__(self, name: str, answered: list[str]) -> None:
        self._name, self._answered = name, answered

    def take_turn(self) -> None:
        self._answered.append(self._name)


class _Raises:
    def take_turn(self) -> None:
        raise RuntimeError("broken")


async def test_a_connection_that_raises_keeps_no_other_from_its_turn() -> None:
    loop, raised = asyncio.get_running_loop(), list[Any]()
    loop.set_exception_handler(lambda _, context: raised.append(context["exception"]))
    turns, answered = Turns(loop), list[str]()
    turns.add(_Raises())
    turns.add(_Answers("queued", answered))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert answered == ["queued"]
    turns.add(_Raises())
    await asyncio.sleep(0)
    turns.add(_Answers("later", answered))
    await asyncio.sleep(0)
    assert answered == ["queued", "later"]
    assert [str(each) for each in raised] == ["broken"] * 2

"""Writers that remember what they asked and were answered, and watchers that resume by revision."""

from __future__ import annotations

import asyncio
import random
from dataclasses import dataclass
from math import inf
from time import monotonic

from tests.consistency.cluster import Cluster, Connection
from tests.consistency.messages import Answer, Delivered, Failed, Found, Read, Refused, Stored, Watch, Write

NAMES = [f"object-{number}" for number in range(6)]
_REST_S = 0.02


@dataclass(frozen=True)
class Step:
    """One request and its answer; None if there was none, or if it said that nobody knows."""

    asked: Read | Write
    answer: Answer | None
    began: float
    ended: float


class Writer:
    """Reads, creates, replaces and deletes under the revision it last heard of; every text is written once."""

    def __init__(self, number: int, cluster: Cluster, chance: random.Random) -> None:
        self._number, self._cluster, self._chance = number, cluster, chance
        self._known = dict.fromkeys(NAMES, 0)
        self.steps: list[Step] = []
        self.stored = 0
        self.failures = 0
        self.is_over = False

    async def run(self) -> None:
        """Run until `is_over` is set, and finish the current step."""
        while not self.is_over:
            try:
                connection = await self._cluster.connect(self._chance)
            except OSError:
                await asyncio.sleep(_REST_S)
                continue
            try:
                while await self._take_step(connection) and not self.is_over:
                    pass
            finally:
                connection.close()

    async def _take_step(self, connection: Connection) -> bool:
        asked = self._choose()
        began = monotonic()
        answer: Answer | None = None
        try:
            connection.send(asked)
            answer = await connection.receive()
        except OSError:
            pass
        self._note(Step(asked, answer, began, monotonic() if answer is not None else inf))
        if isinstance(answer, Failed):
            await asyncio.sleep(_REST_S)
        return answer is not None

    def _choose(self) -> Read | Write:
        name = self._chance.choice(NAMES)
        if self._chance.random() < 0.4:
            return Read(name)
        text = f"{self._number}-{len(self.steps)}"
        return Write(name, self._known[name], text, is_deletion=self._chance.random() < 0.15)

    def _note(self, step: Step) -> None:
        name = step.asked.name
        match step.answer:
            case Failed(is_uncertain=is_uncertain):
                self.failures += 1
                if is_uncertain:
                    step = Step(step.asked, None, step.began, inf)
            case Found(revision=revision) | Refused(revision=revision):
                self._known[name] = revision
            case Stored(revision=revision):
                assert isinstance(step.asked, Write)
                self.stored += 1
                self._known[name] = 0 if step.asked.is_deletion else revision
        self.steps.append(step)


class Watcher:
    """Hears of everything; after a cut it asks some replica for what came after the last thing it heard."""

    def __init__(self, cluster: Cluster, chance: random.Random) -> None:
        self._cluster, self._chance = cluster, chance
        self.delivered: list[Delivered] = []
        self.resumed = 0

    async def run(self) -> None:
        while True:
            try:
                connection = await self._cluster.connect(self._chance)
            except OSError:
                await asyncio.sleep(_REST_S)
                continue
            try:
                connection.send(Watch(self.delivered[-1].revision if self.delivered else 0))
                while isinstance(event := await connection.receive(), Delivered):
                    self.delivered.append(event)
            except OSError:
                self.resumed += 1
                await asyncio.sleep(_REST_S)
            finally:
                connection.close()

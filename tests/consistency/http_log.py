"""What the database has of a run over HTTP, put into the words that the verdict knows.

Revisions are counted from 1 without those of other objects. A deletion has no text of its own on the wire, so the one
that expected the revision it took the place of gives it its own: one that was acknowledged, else the first that was
never answered. So a second one acknowledged for the same revision has none in the log, and is reported as lost.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple

import asyncpg
import msgspec

from tests.consistency.clients import NAMES, Step
from tests.consistency.http_cluster import NAMESPACE, text_of
from tests.consistency.messages import Answer, Delivered, Found, Read, Refused, Stored, Write

_TYPES = ("ADDED", "MODIFIED", "DELETED")
_NOWHERE = 1 << 40
_ROWS = """
    SELECT revision, operation, name, previous, value FROM homeostat.log
    WHERE resource = 'configmaps' AND namespace = $1 AND name = ANY($2) ORDER BY revision
"""


class Row(NamedTuple):
    event: Delivered
    previous: int


async def read_log(url: str) -> list[Row]:
    connection = await asyncpg.connect(url)
    try:
        found = await connection.fetch(_ROWS, NAMESPACE, NAMES)
    finally:
        await connection.close()
    return [
        Row(Delivered(revision, _TYPES[operation - 1], name, text_of(msgspec.json.decode(value))), previous)
        for revision, operation, name, previous, value in found
    ]


class Translation:
    def __init__(self, rows: Sequence[Row], writers: Iterable[Sequence[Step]]) -> None:
        self._ranks = {row.event.revision: rank for rank, row in enumerate(rows, 1)}
        self._ranks[0] = 0
        deleters = _deleters([step for steps in writers for step in steps])
        self._deletions: dict[tuple[str, int], int] = {}
        self._known: dict[Delivered, Delivered] = {}
        self.log: list[Delivered] = []
        for rank, (event, previous) in enumerate(rows, 1):
            text = event.text
            if event.type == "DELETED":
                text = deleters.get((event.name, previous), f"nobody's deletion {rank}")
                self._deletions[event.name, previous] = rank
            self._known[event] = Delivered(rank, event.type, event.name, text)
            self.log.append(self._known[event])

    def watcher(self, seen: Iterable[Delivered]) -> list[Delivered]:
        """What is in the log in other words, and what is not as it is."""
        return [self._known.get(event, event) for event in seen]

    def writer(self, steps: Iterable[Step]) -> list[Step]:
        return [self._step(step) for step in steps]

    def _step(self, step: Step) -> Step:
        asked = step.asked
        if isinstance(asked, Read):
            return replace(step, answer=self._answer(asked, step.answer))
        ranked = Write(asked.name, self._rank(asked.expect), asked.text, asked.is_deletion)
        return replace(step, asked=ranked, answer=self._answer(asked, step.answer))

    def _answer(self, asked: Read | Write, answer: Answer | None) -> Answer | None:
        match asked, answer:
            case Write(is_deletion=True), Stored():
                return Stored(self._deletions.get((asked.name, asked.expect), _NOWHERE))
            case _, Stored(revision=revision):
                return Stored(self._rank(revision))
            case _, Found(revision=revision, text=text):
                return Found(self._rank(revision), text)
            case _, Refused(revision=revision):
                return Refused(self._rank(revision))
        return answer

    def _rank(self, revision: int) -> int:
        return self._ranks.get(revision, _NOWHERE + revision)


def _deleters(steps: Iterable[Step]) -> dict[tuple[str, int], str]:
    """By name and expected revision: the text of the step that may have deleted it."""
    found: dict[tuple[str, int], str] = {}
    deletions = [step for step in steps if isinstance(step.asked, Write) and step.asked.is_deletion]
    for step in sorted(deletions, key=lambda each: (not isinstance(each.answer, Stored), each.began)):
        assert isinstance(step.asked, Write)
        if isinstance(step.answer, Stored) or step.answer is None:
            found.setdefault((step.asked.name, step.asked.expect), step.asked.text)
    return found

"""A program that restores a backup, stops at a moment of it, says so, and waits to be killed.

Run as `python -m tests.store.refill BACKUP MOMENT DATABASE`, or with URL and schema in the place of the database.
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

from homeostat.store.backup.backup import restore, verify
from homeostat.store.backup.rows import Row, Target
from homeostat.store.seal import Seal
from tests.store.backups import NOW, Place, PostgresPlace, SqlitePlace

MOMENTS = ("begun", "added", "read", "marked", "kept")


class Halting:
    """A target, and what comes before each moment."""

    def __init__(self, target: Target, moment: str) -> None:
        self._target, self._moment = target, moment

    async def add(self, rows: Sequence[Row]) -> None:
        halt("begun", self._moment)
        await self._target.add(rows)
        halt("added", self._moment)

    async def chunks(self) -> AsyncIterator[Sequence[Row]]:
        async for rows in self._target.chunks():
            halt("read", self._moment)
            yield rows

    async def mark(self, *, revision: int, oldest: int, swept: int, is_restored: bool) -> None:
        await self._target.mark(revision=revision, oldest=oldest, swept=swept, is_restored=is_restored)
        halt("marked", self._moment)


def halt(here: str, moment: str) -> None:
    if here == moment:
        sys.stdout.write(f"{here}\n")
        sys.stdout.flush()
        time.sleep(60)


def place_of(database: list[str]) -> Place:
    if len(database) == 1:
        sqlite = SqlitePlace(Path())
        sqlite.path = Path(database[0])
        return sqlite
    postgres = PostgresPlace(database[0])
    postgres.schema = database[1]
    return postgres


async def main(path: Path, moment: str, place: Place) -> None:
    verified = await verify(path, seal=Seal())
    async with place.target() as target:
        await restore(verified, Halting(target, moment), now=NOW)
    halt("kept", moment)


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), sys.argv[2], place_of(sys.argv[3:])))

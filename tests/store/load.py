"""A program that writes until it is killed and prints each write it was answered for.

Run as `python -m tests.store.load DATABASE`; lines are `name revision text`, or `gone revision name`.
"""

from __future__ import annotations

import asyncio
import sys
from itertools import count
from pathlib import Path

from homeostat.store.sqlite import SqliteStore
from tests.store.contract import pod, put, remove

WRITERS = 40


async def main(path: Path) -> None:
    store = await SqliteStore.open(path)

    async def write(writer: int) -> None:
        for step in count():
            key = pod(f"{writer}-{step % 5}")
            if step % 11 == 10:
                sys.stdout.write(f"{key.name} {(await remove(store, key)).revision} gone\n")
            else:
                sys.stdout.write(f"{key.name} {(await put(store, key, f'{step}' * 200)).revision} {step}\n")
            sys.stdout.flush()

    async def compact() -> None:
        while True:
            await asyncio.sleep(0.02)
            await store.compact(store.revision - 100)

    await asyncio.gather(compact(), *(write(writer) for writer in range(WRITERS)))


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1])))

"""A replica in a process of its own, for clients on TCP.

Run as `python -m tests.consistency.replica URL SCHEMA [deaf]`; it prints its port, and ends with its standard input.
A deaf one hears no notifications, so it is often behind.
"""

from __future__ import annotations

import asyncio
import os
import sys
from functools import partial

import uvloop

from homeostat.store.base import (
    Change,
    Delete,
    Draft,
    Event,
    Put,
    RevisionMismatchError,
    Scope,
    StoreError,
    UncertainError,
)
from homeostat.store.postgres import PostgresStore
from tests.consistency.messages import (
    Answer,
    Delivered,
    Failed,
    Found,
    Read,
    Refused,
    Stored,
    Watch,
    Write,
    line_of,
    request_of,
)
from tests.store.contract import pod

PATIENCE_S = 0.8


async def read(store: PostgresStore, asked: Read) -> Answer:
    await store.sync()
    found = store.get(pod(asked.name))
    return Found(found.revision, text_of(found.value)) if found else Found(0)


async def write(store: PostgresStore, asked: Write) -> Answer:
    draft = Draft(b"", f":{asked.text}".encode())
    key = pod(asked.name)
    change: Change = Delete(key, draft, asked.expect) if asked.is_deletion else Put(key, draft, asked.expect)
    try:
        return Stored((await store.write(change)).revision)
    except RevisionMismatchError as error:
        return Refused(error.current.revision if error.current else 0)


def text_of(value: bytes) -> str:
    return value.partition(b":")[2].decode()


async def answer(store: PostgresStore, request: Read | Write) -> Answer:
    try:
        return await (read(store, request) if isinstance(request, Read) else write(store, request))
    except StoreError as error:
        return Failed(str(error), isinstance(error, UncertainError))


async def watch(store: PostgresStore, since: int, writer: asyncio.StreamWriter) -> None:
    """Until the client is gone."""

    def deliver(event: Event) -> None:
        record = event.record
        writer.write(line_of(Delivered(record.revision, event.type, record.key.name, text_of(record.value))))

    subscription = await store.subscribe(Scope("pods"), since=since, deliver=deliver)
    try:
        await writer.wait_closed()
    finally:
        subscription.close()


async def serve(store: PostgresStore, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while line := await reader.readline():
            request = request_of(line)
            if isinstance(request, Watch):
                await watch(store, request.since, writer)
                return
            writer.write(line_of(await answer(store, request)))
            await writer.drain()
    except (OSError, StoreError):
        pass
    finally:
        writer.transport.abort()


async def opened(url: str, schema: str) -> PostgresStore:
    while True:
        try:
            return await PostgresStore.open(url, schema=schema, patience_s=PATIENCE_S)
        except StoreError:
            await asyncio.sleep(0.1)


async def main(url: str, schema: str, hearing: str = "") -> None:
    asyncio.get_running_loop().add_reader(sys.stdin.fileno(), os._exit, 0)
    store = await opened(url, schema)
    if hearing == "deaf":
        store._notified = lambda *_: None  # type: ignore[method-assign]
    server = await asyncio.start_server(partial(serve, store), "127.0.0.1", 0)
    sys.stdout.write(f"{server.sockets[0].getsockname()[1]}\n")
    sys.stdout.flush()
    await store.maintain(poll_s=0.3)


if __name__ == "__main__":
    uvloop.run(main(*sys.argv[1:]))  # as the plane does

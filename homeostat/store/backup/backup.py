"""Backups of a store, their restoration, and the move from one database to another.

A backup is the log at one revision: current records and the history still kept, sealed values as they are. It is made
while planes serve and write, and is read back before it gets its name.

**The trap of an older state.** Clients hold revisions that the plane assigned after the backup. If it assigned them
again, a watch would resume in the middle of a different history, and an update could overwrite a change that its author
has not seen. So a restored store continues at a revision that no client can hold, and drops its history: every older
watch gets a 410 and lists again. Records keep their revisions. If nothing was written after the backup (`resume`), the
store continues at the revision of the backup and keeps its history. A move always does that.

**The mark of a restore.** A restored store may be a copy of one that is still in use, so the plane that serves it must
not act on the outside world by itself. `restore` marks the store (`is_restored`); the mark stays until
`forget_restore`.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import msgspec

from homeostat.store.backup.file import BackupError, BackupReader, BackupWriter, Header, writing
from homeostat.store.backup.rows import Replay, Row, Source, Target
from homeostat.store.base import StoreError
from homeostat.store.seal import Seal

OnRows = Callable[[int], None]
"""Called with the number of rows processed since the last call."""

_LEAST_JUMP = 1_000_000_000
_MOST_CHANGES_PER_S = 100_000
"""More than any plane has been measured to commit."""


class Verified(NamedTuple):
    """A backup that was read to its end and is complete."""

    path: Path
    header: Header
    live: set[int]
    """Revisions of the current records."""
    seal: Seal | None


async def back_up(source: Source, path: Path, *, now: float, on_rows: OnRows = lambda _: None) -> Header:
    """Write the source's log to the file. An existing backup is replaced only after the new one was verified."""
    header = Header(**msgspec.structs.asdict(source.contents), made=now)
    with writing(path) as (file, beside):
        writer = BackupWriter(file, header)
        async for rows in source.chunks():
            await asyncio.to_thread(writer.add, rows)
            on_rows(len(rows))
        writer.finish()
        await verify(beside)
    return header


async def verify(path: Path, *, seal: Seal | None = None, on_rows: OnRows = lambda _: None) -> Verified:
    """Read the whole file and check it; with a seal, also decrypt the sealed values."""
    with _reading(path) as reader:
        header = reader.header
        is_ours = seal is None or seal.description() == header.seal
        replay = Replay(header, seal if is_ours else None)
        chunks = reader.chunks()
        while rows := await asyncio.to_thread(next, chunks, None):
            _held_against(replay, rows, reader)
            on_rows(len(rows))
        try:
            replay.finish()
        except StoreError as error:
            raise reader.damaged(error) from error
    if not is_ours and seal is not None:
        raise BackupError(
            f'"{path}" is sealed as "{header.seal}" (key id, resources), not as "{seal.description()}"; '
            "use the seal.key of the plane that created the backup"
        )
    return Verified(path, header, replay.live, seal)


async def restore(
    verified: Verified, target: Target, *, now: float, resume: bool = False, on_rows: OnRows = lambda _: None
) -> int:
    """Fill the target with the backup and return the revision at which the store continues.

    With `resume`, the store continues at the revision of the backup, with its history. Only correct if nothing was
    written after the backup.
    """
    header, live = verified.header, verified.live
    with _reading(verified.path) as reader:
        if reader.header != header:
            raise BackupError(f'"{verified.path}" was replaced while it was read; try again')

        async def chunks() -> AsyncIterator[Sequence[Row]]:
            parts = reader.chunks()
            while rows := await asyncio.to_thread(next, parts, None):
                yield rows if resume else [row for row in rows if row.revision in live]
                on_rows(len(rows))

        await _fill(target, chunks())
    if resume:
        await target.mark(revision=header.revision, oldest=header.oldest, swept=header.swept, is_restored=True)
        return header.revision
    revision = revision_after(header, now)
    await target.mark(revision=revision, oldest=revision, swept=revision, is_restored=True)
    return revision


async def move(source: Source, target: Target, *, seal: Seal, on_rows: OnRows = lambda _: None) -> None:
    """Copy the whole log of the source to the target. Nobody may write to the source meanwhile."""
    contents = source.contents
    if seal.description() != contents.seal:
        raise StoreError(
            f'the database is sealed as "{contents.seal}" (key id, resources), not as "{seal.description()}"; '
            "use the seal.key of its plane"
        )
    replay = Replay(contents, seal)

    async def chunks() -> AsyncIterator[Sequence[Row]]:
        async for rows in source.chunks():
            replay.take(rows)
            yield rows
            on_rows(len(rows))

    await _fill(target, chunks())
    replay.finish()
    await target.mark(
        revision=contents.revision, oldest=contents.oldest, swept=contents.swept, is_restored=source.is_restored
    )


def revision_after(header: Header, now: float) -> int:
    """A revision that no plane can have assigned since the backup was made."""
    since_s = max(0, int(now - header.made))
    return header.revision + _LEAST_JUMP + since_s * _MOST_CHANGES_PER_S


async def _fill(target: Target, chunks: AsyncIterator[Sequence[Row]]) -> None:
    """Add the rows, then read them back from the target and compare them byte for byte."""
    given, found = hashlib.sha256(), hashlib.sha256()
    async for rows in chunks:
        await target.add(rows)
        given.update(_joined(rows))
    async for rows in target.chunks():
        found.update(_joined(rows))
    if given.digest() != found.digest():
        raise StoreError("verification failed: the restored records differ from the backup; nothing was restored")


def _joined(rows: Sequence[Row]) -> bytes:
    return b"".join(map(_encode, rows))


_encode = msgspec.msgpack.Encoder().encode


def _held_against(replay: Replay, rows: Sequence[Row], reader: BackupReader) -> None:
    try:
        replay.take(rows)
    except StoreError as error:
        raise reader.damaged(error) from error


@contextmanager
def _reading(path: Path) -> Iterator[BackupReader]:
    try:
        with path.open("rb") as file:
            yield BackupReader(file, path)
    except OSError as error:
        raise BackupError(f'"{path}" cannot be read: {error.strerror}') from error

"""`homeostat migrate-store`: copies a database into an empty one of the same or another type."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from typing import TYPE_CHECKING

import click

from homeostat.cli.console.failure import Failure
from homeostat.cli.console.progress import progress
from homeostat.cli.plane.data_directory import data_option
from homeostat.cli.plane.database import parse_database
from homeostat.cli.plane.restore import seal_in

if TYPE_CHECKING:
    from homeostat.store.backup.rows import Contents
    from homeostat.store.seal import Seal


@click.command(short_help="Move a plane to another database.")
@click.argument("source", metavar="FROM", callback=parse_database)
@click.argument("target", metavar="TO", callback=parse_database)
@data_option
def command(source: Path | str, target: Path | str, data: Path) -> None:
    """Copy all objects and their history FROM one database TO another, an empty one, all of it or nothing.

    Stop the plane first, and start it on the new database afterwards: revisions and uids are the same, and watches
    resume. What was copied is read back and compared. FROM is left as it is; do not serve it again. The data directory
    has the seal.key, which stays in use.

    \b
    Examples:
      homeostat migrate-store sqlite:////srv/plane/homeostat.db postgresql://plane@db.example/plane
      homeostat migrate-store postgresql://plane@db.example/plane sqlite:///homeostat.db --data ./plane
    """
    from homeostat.store.base import StoreError

    if not source or not target:
        raise click.UsageError("FROM and TO are URLs: sqlite:///PATH or postgresql://USER@HOST/NAME")
    try:
        contents = asyncio.run(_move(source, target, seal_in(data)))
    except StoreError as error:
        raise Failure(str(error)) from error
    click.echo(f"{contents.records:,} objects and {contents.rows:,} changes moved, at revision {contents.revision}")


async def _move(source: Path | str, target: Path | str, seal: Seal) -> Contents:
    from homeostat.store.backup.backup import move
    from homeostat.store.backup.places import source_at, target_at

    async with source_at(source, is_exclusive=True) as given, target_at(target, seal=seal, now=time.time()) as taken:
        with progress("moving", given.contents.rows) as on_rows:
            await move(given, taken, seal=seal, on_rows=on_rows)
    return given.contents

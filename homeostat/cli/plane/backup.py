"""`homeostat backup`: writes all objects at one revision to a file, while planes continue to serve."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import click

from homeostat.cli.console.failure import Failure
from homeostat.cli.console.progress import progress
from homeostat.cli.plane.data_directory import data_option
from homeostat.cli.plane.database import database_option

if TYPE_CHECKING:
    from homeostat.store.backup.file import Header


@click.command(short_help="Write all objects to a file, or check such a file.")
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
@click.option("--verify", "is_check", is_flag=True, help="Check the file; no database is opened.")
@data_option
@database_option
def command(file: Path, is_check: bool, data: Path, database: Path | str | None) -> None:
    """Write all objects, and the history still kept, to FILE.

    All objects are of one revision. The file is verified, and only you can read it. A plane on the database continues
    to serve. Secrets stay encrypted. The file has no keys: to restore it, you also need the plane's seal.key, and to
    keep its certificates and tokens, pki and tokens.json.

    \b
    Examples:
      homeostat backup monday.backup
      homeostat backup --database postgresql://plane@db.example/plane monday.backup
      homeostat backup --verify monday.backup
    """
    from homeostat.store.base import StoreError

    place = database or data.absolute() / "homeostat.db"
    try:
        header = asyncio.run(_check(file) if is_check else _back_up(place, file.absolute()))
    except StoreError as error:
        raise Failure(str(error)) from error
    click.echo(f"{file}: {summary(header)}, {file.stat().st_size:,} bytes, verified")
    if not is_check:
        click.echo(f"  source  {place if isinstance(place, Path) else _without_credentials(place)}")
    else:
        click.echo(f"  made    {time.strftime('%Y-%m-%dT%H:%M:%SZ', time.gmtime(header.made))}")
        click.echo(f"  sealed  {header.seal or 'nothing'} (key id, resources)")


def _without_credentials(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"


def summary(header: Header) -> str:
    history = f"history since {header.oldest}" if header.oldest < header.revision else "no history"
    return f"{header.records:,} objects at revision {header.revision}, {history}"


async def _back_up(place: Path | str, file: Path) -> Header:
    from homeostat.store.backup.backup import back_up
    from homeostat.store.backup.places import source_at

    async with source_at(place) as source:
        with progress("backing up", source.contents.rows) as on_rows:
            return await back_up(source, file, now=time.time(), on_rows=on_rows)


async def _check(file: Path) -> Header:
    from homeostat.store.backup.backup import verify

    return (await verify(file)).header

"""`homeostat restore`: restores a backup into an empty database, completely or not at all."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from typing import TYPE_CHECKING

import click

from homeostat.cli.console.failure import Failure
from homeostat.cli.console.progress import progress
from homeostat.cli.plane.data_directory import new_data_option
from homeostat.cli.plane.database import database_option

if TYPE_CHECKING:
    from homeostat.store.seal import Seal


@click.command(short_help="Restore a backup into an empty database.")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option(
    "--resume",
    "is_resumed",
    is_flag=True,
    help="Continue at the revision of the backup, so that watches resume; only if nothing was written after it.",
)
@new_data_option
@database_option
def command(file: Path, is_resumed: bool, data: Path, database: Path | str | None) -> None:
    """Restore the objects of FILE into an empty database, all of them or none.

    The data directory must have the seal.key of the plane that the backup was made of; put its pki and tokens.json
    there too, or every kubeconfig and token is invalid. Objects keep their uid and resourceVersion. New revisions begin
    far above any that clients may have seen, so that their watches get 410 and list again; use --resume for a move.
    Operators of the restored plane are paused until it is started with --resume-effects.

    \b
    Examples:
      homeostat restore monday.backup --data ./restored
      homeostat restore monday.backup --database postgresql://plane@db.example/plane
    """
    from homeostat.store.base import StoreError

    place = database or data.absolute() / "homeostat.db"
    try:
        records, revision = asyncio.run(_restore(file, place, seal_in(data), is_resumed=is_resumed))
    except StoreError as error:
        raise Failure(str(error)) from error
    click.echo(f"{records:,} objects restored; the next revision is {revision + 1}")
    click.echo("operators are paused until the plane is started with --resume-effects")


def seal_in(data: Path) -> Seal:
    """The seal of a plane's data directory."""
    from homeostat.plane.storage import SEALED_RESOURCES
    from homeostat.server.pki.private_file import read_private
    from homeostat.store.base import StoreError
    from homeostat.store.seal import Seal

    path = data / "seal.key"
    try:
        key = read_private(path)
    except OSError as error:
        raise StoreError(f'"{path}" cannot be read: {error.strerror}') from error
    if key is None:
        raise StoreError(f'"{path}" is missing; put the seal.key of the plane there, which opens its Secrets')
    return Seal(SEALED_RESOURCES, key)


async def _restore(file: Path, place: Path | str, seal: Seal, *, is_resumed: bool) -> tuple[int, int]:
    from homeostat.store.backup.backup import restore, verify
    from homeostat.store.backup.places import target_at

    verified = await verify(file, seal=seal)
    header, now = verified.header, time.time()
    async with target_at(place, seal=seal, now=now) as target:
        with progress("restoring", header.rows) as on_rows:
            revision = await restore(verified, target, now=now, resume=is_resumed, on_rows=on_rows)
    return header.records, revision

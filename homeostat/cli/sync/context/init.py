"""`homeostat sync context init`: prepares the repository and the metadata of a context."""

from __future__ import annotations

import asyncio
from pathlib import Path

import click

from homeostat.cli.sync.console.run import Run, sync_command
from homeostat.cli.sync.repository.commits import create_repository


@click.command("init", short_help="Prepare the repository and the metadata of a context.")
@sync_command(changes=True)
async def command(run: Run) -> None:
    """Create the repository, the directory of metadata and the secret store where they are missing; fetch the bundle.

    \b
    Examples:
      homeostat sync context init
    """
    async with run.session() as session:
        if session.repository is not None:
            await create_repository(session)
        if base := session.context.get("metadata", {}).get("baseDir"):
            await asyncio.to_thread(_create, base)
        if session.store is not None:
            await session.store.open()


def _create(directory: str) -> None:
    Path(directory).expanduser().mkdir(parents=True, exist_ok=True)

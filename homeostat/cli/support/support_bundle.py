"""`homeostat support-bundle`: writes an archive for whoever helps with a problem."""

from __future__ import annotations

import asyncio
import io
import os
import tarfile
from datetime import datetime
from pathlib import Path

import click

from homeostat.cli.console.connection import connection_options, reporting_errors
from homeostat.cli.console.failure import Failure
from homeostat.cli.doctor.examination import Subject
from homeostat.cli.doctor.server import utc_now
from homeostat.cli.plane.data_directory import Directory
from homeostat.cli.plane.database import database_option
from homeostat.cli.support.collection import collect


@click.command(short_help="Write an archive for whoever helps with a problem.")
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path), required=False)
@click.option("--data", type=Directory(), metavar="DIR", help="Include the state of this data directory.")
@database_option
@click.option(
    "--log",
    "logs",
    multiple=True,
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Include the end of this log; may be repeated.",
)
@click.option("--health", default="", metavar="URL", help="Include the metrics of homeostat run with this address.")
@connection_options
def command(
    file: Path | None,
    data: Path | None,
    database: Path | str | None,
    logs: tuple[Path, ...],
    health: str,
    namespace: str,
    context: str,
    kubeconfig: str,
) -> None:
    """Write versions, settings, findings of `homeostat doctor`, metrics, logs, counts of objects, and conditions of
    operators' objects to a .tar.gz that only you can read.

    It contains names and states of objects, and no secrets: no spec, no data of ConfigMaps and Secrets, no values of
    environment variables, no keys. Values of Secrets that you may read are removed from messages and logs, and so is
    whatever looks like a credential. Look through it before you send it.

    \b
    Examples:
      homeostat support-bundle
      homeostat support-bundle problem.tar.gz --data ~/.homeostat --log plane.log
      homeostat support-bundle --context staging --namespace homeostat
    """
    now = utc_now()
    subject = Subject(
        data=data, database=database, kubeconfig=kubeconfig, context=context, namespace=namespace, health=health
    )
    path = file or Path(f"homeostat-support-{now:%Y%m%d-%H%M%S}.tar.gz")
    with reporting_errors():
        files = asyncio.run(collect(subject, list(logs), now))
    try:
        _write(path, files, now)
    except OSError as error:
        raise Failure(f"cannot write {path}: {error.strerror}") from error
    click.echo(f"wrote {path}: {len(files)} files; look through it before you send it")


def _write(path: Path, files: dict[str, bytes], now: datetime) -> None:
    opened = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        _archive(opened, files, now)
    except BaseException:
        path.unlink(missing_ok=True)
        raise


def _archive(opened: int, files: dict[str, bytes], now: datetime) -> None:
    with os.fdopen(opened, "wb") as out, tarfile.open(fileobj=out, mode="w:gz") as archive:
        for name, content in sorted(files.items()):
            entry = tarfile.TarInfo(f"homeostat-support/{name}")
            entry.size, entry.mode, entry.mtime = len(content), 0o600, int(now.timestamp())
            archive.addfile(entry, io.BytesIO(content))

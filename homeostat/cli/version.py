"""`homeostat version`."""

from __future__ import annotations

import platform
import sqlite3

import click

from homeostat import __version__


@click.command(short_help="Print the version.")
def command() -> None:
    """Print the versions of homeostat, Python and SQLite.

    \b
    Example:
      homeostat version
    """
    click.echo(f"homeostat {__version__} (Python {platform.python_version()}, SQLite {sqlite3.sqlite_version})")

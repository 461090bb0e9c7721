"""`homeostat version`."""

from __future__ import annotations

import platform
import sqlite3

import click

from homeostat import __version__
from homeostat.cli.console.output import print_object
from homeostat.objects.json import JsonObject


@click.command(short_help="Print the version.")
@click.option(
    "-o",
    "--output",
    type=click.Choice(["text", "json", "yaml"]),
    default="text",
    show_default=True,
    help="How to print.",
)
def command(output: str) -> None:
    """Print the versions of homeostat, Python and SQLite; json and yaml also list the extras that are installed.

    \b
    Examples:
      homeostat version
      homeostat version -o json
    """
    if output == "text":
        click.echo(f"homeostat {__version__} (Python {platform.python_version()}, SQLite {sqlite3.sqlite_version})")
    else:
        print_object(versions(), output)


def versions() -> JsonObject:
    """`schemas` are the newest schemas of databases that this version migrates to and opens."""
    from homeostat.store.migration import migrations

    return {
        "homeostat": __version__,
        "python": platform.python_version(),
        "sqlite": sqlite3.sqlite_version,
        "platform": f"{platform.system().lower()}/{platform.machine()}",
        "schemas": {database: migrations(database)[-1][0] for database in ("postgres", "sqlite")},
        "extras": _extras(),
    }


def _extras() -> dict[str, bool]:
    """Whether the packages of each extra can be imported."""
    from importlib.util import find_spec

    modules = {"amqp": "aiormq", "jq": "jq", "otel": "opentelemetry", "postgres": "asyncpg"}
    return {extra: find_spec(module) is not None for extra, module in modules.items()}

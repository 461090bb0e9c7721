"""The database of a command: `--database`, else HOMEOSTAT_DATABASE, else a file in the data directory."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

F = TypeVar("F", bound=Callable[..., Any])

_FORMS = "sqlite:///PATH (four slashes for a path from the root) or postgresql://USER@HOST/NAME"


def parse_database(ctx: click.Context, param: click.Parameter, value: str) -> Path | str | None:
    """A `Path` for SQLite, the URL itself for PostgreSQL, None for an empty value."""
    if not value:
        return None
    scheme, _, rest = value.partition("://")
    if scheme in {"postgresql", "postgres"}:
        return value
    if scheme != "sqlite" or not rest.startswith("/") or rest == "/":
        raise click.BadParameter(f"expected {_FORMS}, got {value!r}", ctx, param)
    return Path(rest[1:]).absolute()


def database_option(function: F) -> F:
    return click.option(
        "--database",
        metavar="URL",
        default="",
        envvar="HOMEOSTAT_DATABASE",
        callback=parse_database,
        help="sqlite:///PATH or postgresql://USER@HOST/NAME; also $HOMEOSTAT_DATABASE.  "
        "[default: a file in the data directory]",
    )(function)

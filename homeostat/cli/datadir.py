"""The data directory a command works on: `--data`, else HOMEOSTAT_DATA, else `~/.homeostat`."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

F = TypeVar("F", bound=Callable[..., Any])


def default_data() -> Path:
    return Path(os.environ.get("HOMEOSTAT_DATA") or "~/.homeostat").expanduser()


def data_option(function: F) -> F:
    return click.option(
        "--data",
        type=click.Path(file_okay=False, path_type=Path),
        default=default_data,
        help="Data directory.  [default: $HOMEOSTAT_DATA or ~/.homeostat]",
    )(function)

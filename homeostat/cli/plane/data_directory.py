"""The data directory of a command: `--data`, else HOMEOSTAT_DATA, else `~/.homeostat`."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

F = TypeVar("F", bound=Callable[..., Any])


def default_data() -> Path:
    return Path(os.environ.get("HOMEOSTAT_DATA") or "~/.homeostat").expanduser()


class Directory(click.Path):
    """Refuses an empty value. It would mean the current directory, but most likely it is an unset variable."""

    def __init__(self) -> None:
        super().__init__(file_okay=False, path_type=Path)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if value == "":
            self.fail("the value is empty; name a directory, . for the current one", param, ctx)
        return super().convert(value, param, ctx)


def data_option(function: F) -> F:
    return click.option(
        "--data",
        type=Directory(),
        default=default_data,
        help="Data directory.  [default: $HOMEOSTAT_DATA or ~/.homeostat]",
    )(function)

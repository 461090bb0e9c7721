"""The data directory of a command: `--data`, else HOMEOSTAT_DATA, else `~/.homeostat`.

A command on an existing plane takes the plane that KUBECONFIG names before `~/.homeostat`: whoever exported only
KUBECONFIG, as for kubectl, means that plane. A command that creates a plane does not.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

F = TypeVar("F", bound=Callable[..., Any])
_MARKS = ("homeostat.db", "seal.key")  # with PostgreSQL there is no homeostat.db


def usual_data() -> Path:
    return Path("~/.homeostat").expanduser()


def default_data() -> Path:
    named = os.environ.get("HOMEOSTAT_DATA")
    return Path(named).expanduser() if named else usual_data()


def existing_data() -> Path:
    """The default for a command on a plane that exists."""
    own = None if os.environ.get("HOMEOSTAT_DATA") else _data_of_kubeconfig()
    return own or default_data()


def _data_of_kubeconfig() -> Path | None:
    """The directory of KUBECONFIG, if the file is there and was written by the plane whose data is beside it."""
    path = Path(os.environ.get("KUBECONFIG", ""))
    is_own = path.name == "kubeconfig" and path.is_file()
    return path.parent if is_own and is_data_directory(path.parent) else None


def is_data_directory(path: Path) -> bool:
    """Whether a plane keeps its data there."""
    return any((path / name).exists() for name in _MARKS)


class Directory(click.Path):
    """Refuses an empty value. It would mean the current directory, but most likely it is an unset variable."""

    def __init__(self) -> None:
        super().__init__(file_okay=False, path_type=Path)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if value == "":
            self.fail("the value is empty; name a directory, . for the current one", param, ctx)
        return super().convert(value, param, ctx)


def data_option(function: F) -> F:
    """`--data` of a command on a plane that exists."""
    return _option(existing_data, "$HOMEOSTAT_DATA, that of a plane's own $KUBECONFIG, or ~/.homeostat")(function)


def new_data_option(function: F) -> F:
    """`--data` of a command that may create a plane."""
    return _option(default_data, "$HOMEOSTAT_DATA or ~/.homeostat")(function)


def _option(default: Callable[[], Path], text: str) -> Callable[[F], F]:
    return click.option("--data", type=Directory(), default=default, help=f"Data directory.  [default: {text}]")

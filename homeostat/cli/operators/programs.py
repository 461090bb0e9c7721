"""The option `--allow-programs`: whether plugins are allowed to run programs on this machine."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, TypeVar

import click

ALLOW_PROGRAMS = "HOMEOSTAT_ALLOW_PROGRAMS"
"""As `operators/actions/settings.py` reads it."""

F = TypeVar("F", bound=Callable[..., Any])


def programs_option(function: F) -> F:
    return click.option(
        "--allow-programs",
        "allows_programs",
        is_flag=True,
        envvar=ALLOW_PROGRAMS,
        help="Let resource types run programs on this machine (plugins command and terraform).",
    )(function)


def refuse_programs(option: str, *, allows_programs: bool) -> None:
    """`UsageError` if programs are allowed together with an option that requires no credentials."""
    if allows_programs:
        raise click.UsageError(
            f"{option} lets in everyone on this machine, and with --allow-programs each of them could run programs "
            "as you; leave out one of them"
        )


def environment_with(*, allows_programs: bool) -> dict[str, str]:
    """The environment that operators read settings from: that of this process, with the option set in it."""
    return {**os.environ, ALLOW_PROGRAMS: "true" if allows_programs else "false"}

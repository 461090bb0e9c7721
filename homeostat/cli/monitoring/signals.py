"""Which signals a command renders: the options `--operators` and `--plane`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from homeostat.cli.monitoring.catalog import operator_signals
from homeostat.cli.operators.choice import described_operators, operators_option
from homeostat.runtime.deployment import Signals

F = TypeVar("F", bound=Callable[..., Any])


def signals_options(function: F) -> F:
    plane = click.option(
        "--plane/--no-plane", "has_plane", default=True, show_default=True, help="With those of the plane itself."
    )
    return operators_option(plane(function))


def chosen_signals(operators: str, *, has_plane: bool) -> list[Signals]:
    from homeostat.plane.signals import SIGNALS as PLANE

    modules = {name: each.load() for name, each in described_operators(operators).items()}
    return [*([PLANE] if has_plane else []), *operator_signals(modules)]

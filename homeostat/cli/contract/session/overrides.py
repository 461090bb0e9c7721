"""`--set` and `--values`: changes of a contract before it is used."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final, TypeVar

import click

from homeostat.external.files import read_limited
from homeostat.operators.contracts.engine.document.parse import MAX_CONTRACT_BYTES, ParseError
from homeostat.operators.contracts.engine.validate import Overrides

F = TypeVar("F", bound=Callable[..., Any])
_SET_HELP: Final = "Set a field, such as interfaces[0].port=8080; may be repeated."
_VALUES_HELP: Final = "A YAML file whose fields override the contract's; may be repeated."


def override_options(side: str = "", *, has_short: bool = True) -> Callable[[F], F]:
    """`side` is `old` or `new` where a command has two contracts."""
    lead = f"{side}-" if side else ""
    names = [f"--{lead}values", *(["-f"] if has_short and not side else [])]

    def add(command: F) -> F:
        command = click.option(*names, f"{side}values", multiple=True, metavar="FILE", help=_VALUES_HELP)(command)
        return click.option(f"--{lead}set", f"{side}settings", multiple=True, metavar="PATH=VALUE", help=_SET_HELP)(
            command
        )

    return add


def read_overrides(values: Sequence[str], settings: Sequence[str]) -> Overrides:
    """Raises `ParseError` for a file that cannot be read."""
    return Overrides(values=tuple((path, _read(path)) for path in values), settings=tuple(settings))


def _read(path: str) -> bytes:
    try:
        return read_limited(Path(path), MAX_CONTRACT_BYTES)
    except OSError as error:
        raise ParseError(f'cannot read the values file "{path}": {error.strerror}') from error

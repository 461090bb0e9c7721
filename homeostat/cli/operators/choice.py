"""The option `--operators`: which operators a command works with."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import click

from homeostat.cli.console.failure import Failure
from homeostat.objects.json import JsonObject
from homeostat.objects.names import name_rule

if TYPE_CHECKING:
    from homeostat.runtime.description import Description
    from homeostat.runtime.setup import OperatorModule

F = TypeVar("F", bound=Callable[..., Any])


def operators_option(function: F) -> F:
    return click.option(
        "--operators",
        default="all",
        show_default=True,
        metavar="all|A,B|all,A",
        help="Operators by name; also a file (./greeter.py) or a module of your own.",
    )(function)


def named_operators(text: str) -> list[str]:
    """The names, without duplicates, in the order given."""
    from homeostat.operators.catalog import known_operators

    named = [each.strip() for each in text.split(",")]
    names = list(dict.fromkeys(name for each in named for name in (known_operators() if each == "all" else [each])))
    if found := [each for each in names if each]:
        return found
    raise click.UsageError("--operators names none; name one, or a file of your own (./greeter.py)")


def described_operators(text: str) -> dict[str, Description]:
    """Descriptions by short name, in the order given."""
    from homeostat.operators.catalog import (
        BrokenOperatorError,
        UnknownOperatorError,
        find_operator,
        operator_name,
    )

    names = named_operators(text)
    try:
        found = {operator_name(name): find_operator(name) for name in names}
    except UnknownOperatorError as error:
        raise click.UsageError(str(error)) from error
    except BrokenOperatorError as error:
        raise Failure(str(error)) from error
    if len(found) < len(names):
        raise click.UsageError(f"two of the operators {', '.join(names)} have the same name; rename one")
    return found


def declared_rules(name: str, module: OperatorModule) -> list[JsonObject]:
    """The permissions that an operator declares; `Failure` if there are none, or invalid ones."""
    from homeostat.operators.access import rules_of
    from homeostat.operators.catalog import UnknownOperatorError

    try:
        return rules_of(name, module)
    except UnknownOperatorError as error:
        raise Failure(str(error)) from error


def check_environments(operators: Iterable[Description], environment: Mapping[str, str]) -> None:
    """Report invalid settings of an operator before anything is started."""
    from homeostat.operators.catalog import BrokenOperatorError, check_environment

    try:
        for each in operators:
            check_environment(each, environment)
    except BrokenOperatorError as error:
        raise Failure(str(error)) from error


def check_name(kind: str, name: str | None) -> None:
    """`UsageError` if a given name is invalid. An empty one is refused too: it is most likely an unset variable."""
    if name is not None and (messages := name_rule("", kind).messages(name)):
        raise click.UsageError(f'"{name}" cannot be the name of a {kind}: {messages[0]}')


def asleep_line(names: Sequence[str]) -> str:
    """The line of a start message about sleeping operators; empty if all are awake."""
    if not names:
        return ""
    starts = "each starts" if len(names) > 1 else "starts"
    return f"  asleep      {', '.join(names)}: {starts} with the first object of its kinds\n"

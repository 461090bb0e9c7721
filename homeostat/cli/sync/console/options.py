"""Options that every command of `homeostat sync` has, before the name of a command or after it.

Each has a variable of the environment, with the names of the original.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import click

from homeostat.cli.console.colour import choose_colour
from homeostat.cli.group import LazyGroup

_KEY: Final = "homeostat.sync"
_FORMS: Final = ("auto", "text", "json", "yaml")
_LOUDEST: Final = 3


@dataclass(frozen=True, slots=True)
class Settings:
    context: str = ""
    output: str = "auto"
    verbosity: int = 0
    is_insecure: bool = False
    is_quiet: bool = False
    ignores_warnings: bool = False


def settings_of(context: click.Context, environment: Mapping[str, str]) -> Settings:
    given: dict[str, Any] = context.meta.get(_KEY, {})

    def is_set(option: str, *names: str) -> bool:
        return bool(given.get(option)) or any(_is_true(environment.get(f"DECLAREST_{each}", "")) for each in names)

    return Settings(
        context=given.get("context") or environment.get("DECLAREST_CONTEXT", ""),
        output=given.get("output") or _output(environment.get("DECLAREST_OUTPUT", "")),
        verbosity=_verbosity(given, environment.get("DECLAREST_VERBOSE", "")),
        is_insecure=is_set("verbose_insecure", "VERBOSE_INSECURE"),
        is_quiet=is_set("skip_result_message", "SKIP_RESULT_MESSAGE", "NO_STATUS"),
        ignores_warnings=is_set("ignore_warnings", "IGNORE_WARNINGS"),
    )


def _is_true(text: str) -> bool:
    return text.strip().lower() not in ("", "0", "f", "false", "n", "no", "off")


def _output(text: str) -> str:
    if text and text not in _FORMS:
        raise click.UsageError(f'DECLAREST_OUTPUT is "{text}"; expected one of {", ".join(_FORMS)}')
    return text or "auto"


def _verbosity(given: Mapping[str, Any], variable: str) -> int:
    """0 to 3: of -v, --verbose or --debug, else of the variable, which may also say true or false."""
    if chosen := given.get("v") or (_LOUDEST if given.get("debug") else 0):
        return min(int(chosen), _LOUDEST)
    if "verbose" in given:
        return int(given["verbose"])
    return min(int(variable), _LOUDEST) if variable.isdecimal() else int(_is_true(variable))


def _keep(context: click.Context, parameter: click.Parameter, value: Any) -> None:
    if value or (value == 0 and parameter.name == "verbose"):
        context.meta.setdefault(_KEY, {})[parameter.name] = value


def _no_colour(context: click.Context, _: click.Parameter, value: bool) -> None:
    if value or os.environ.get("DECLAREST_NO_COLOR"):
        choose_colour(context, is_coloured=False)


def _options() -> list[click.Option]:
    shared: dict[str, Any] = {"expose_value": False, "callback": _keep, "hidden": False}
    return [
        click.Option(["-c", "--context"], help="Use this context.", **shared),
        click.Option(
            ["-o", "--output"],
            type=click.Choice(_FORMS),
            help="Print in this form.  [default: auto]",
            **shared,
        ),
        click.Option(["-v", "v"], count=True, help="Show payloads and requests; repeat for more.", **shared),
        click.Option(["--verbose"], type=click.IntRange(0, _LOUDEST), hidden=True, expose_value=False, callback=_keep),
        click.Option(["-d", "--debug"], is_flag=True, hidden=True, expose_value=False, callback=_keep),
        click.Option(["--verbose-insecure"], is_flag=True, help="Show secrets in logs.", **shared),
        click.Option(["-n", "--skip-result-message"], is_flag=True, help="Print no status line.", **shared),
        click.Option(["--ignore-warnings"], is_flag=True, help="Print no warnings.", **shared),
        click.Option(["--no-color"], is_flag=True, expose_value=False, callback=_no_colour, hidden=True),
    ]


class SyncGroup(LazyGroup):
    """Its commands have the shared options. An unknown command or option exits with 1, as in the original."""

    exit_codes = (
        "0 success, 2 invalid input, 3 not found, 4 refused credentials, 5 conflict, 6 the server cannot be reached, "
        "1 anything else"
    )

    def __init__(self, *arguments: Any, **options: Any) -> None:
        options.setdefault("context_settings", {"help_option_names": ["-h", "--help"]})
        super().__init__(*arguments, **options)
        _add(self)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        found = super().get_command(ctx, cmd_name)
        return _add(found) if found is not None else None

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        try:
            return super().make_context(info_name, args, parent, **extra)
        except click.NoSuchOption as error:
            raise _unknown(error) from None

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        # Its value is optional and follows "=": the next word may be a path.
        end = args.index("--") if "--" in args else len(args)
        return super().parse_args(
            ctx, [*(f"{each}=1" if each == "--verbose" else each for each in args[:end]), *args[end:]]
        )

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except click.NoSuchOption as error:
            raise _unknown(error) from None

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            raise _unknown(error) from None


class _UnknownError(click.UsageError):
    exit_code = 1


def _unknown(error: click.UsageError) -> click.UsageError:
    return _UnknownError(error.format_message(), error.ctx)


def _add(command: click.Command) -> click.Command:
    there = {each for parameter in command.params for each in parameter.opts}
    command.params += [each for each in _options() if not there & set(each.opts)]
    command.context_settings.setdefault("help_option_names", ["-h", "--help"])
    return command

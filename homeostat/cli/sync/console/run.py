"""One run of a command: its settings, its session, and how it ends.

Data goes to standard output. A command that changes something ends with a status line on standard error; one that
only reads prints its error alone. No output shows a secret that the run has resolved.

What a session needs is imported when one is opened, so that commands without one start quickly.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial, wraps
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Concatenate, Final, ParamSpec

import click

from homeostat.cli.console.colour import paint
from homeostat.cli.console.failure import print_error
from homeostat.cli.sync.console.completion import complete_path
from homeostat.cli.sync.console.options import Settings, settings_of
from homeostat.external.secrets.scrub import Scrubber
from homeostat.operators.sync.engine.errors import SyncError, ValidationError
from homeostat.operators.sync.engine.paths.logical import Target, parse

if TYPE_CHECKING:
    from homeostat.objects.json import JsonObject
    from homeostat.operators.sync.context.catalog import Catalog
    from homeostat.operators.sync.context.prompt import Ask
    from homeostat.operators.sync.context.settings import Surroundings
    from homeostat.operators.sync.session.session import Session

P = ParamSpec("P")


class SyncFailure(click.ClickException):
    """How a command ends that has failed; its exit code is that of the error's kind."""

    @property
    def exit_code(self) -> int:  # type: ignore[override]
        return self.error.exit_code

    def __init__(self, error: SyncError, text: str, *, has_status: bool) -> None:
        super().__init__(text)
        self.error, self._has_status = error, has_status

    def show(self, file: IO[Any] | None = None) -> None:
        if self._has_status:
            label = paint("[ERROR]", "red", sys.stderr)
            click.echo(f"{label} command execution failed: {self.message}.", err=True)
        else:
            print_error(self.message)


@dataclass(slots=True)
class Run:
    settings: Settings
    environment: Mapping[str, str]
    scrubber: Scrubber = field(default_factory=Scrubber)

    @property
    def catalog_path(self) -> Path:
        from homeostat.operators.sync.context.catalog import catalog_path

        return catalog_path(self.environment)

    async def catalog(self) -> Catalog:
        from homeostat.operators.sync.context.catalog import read_catalog

        return await read_catalog(self.catalog_path)

    async def change_catalog(self, change: Callable[[Catalog], Catalog]) -> None:
        from homeostat.operators.sync.context.catalog import change_catalog

        await change_catalog(self.catalog_path, change)

    async def context(self) -> JsonObject:
        return (await self.catalog()).context(self.settings.context)

    async def surroundings(self) -> Surroundings:
        from homeostat.operators.sync.context.settings import Surroundings

        return Surroundings(await self.catalog(), self.environment, self.scrubber, _ask())

    @asynccontextmanager
    async def session(
        self,
        path: str = "",
        *,
        is_recursive: bool = False,
        depth: int = 1,
        connects: bool = True,
        fetches: bool = True,
    ) -> AsyncIterator[Session]:
        """The session of the context, with the files that a path needs; without the server unless it `connects`, and
        without shared metadata unless it `fetches`."""
        from homeostat.operators.sync.session.session import open_session

        around = await self.surroundings()
        context = around.catalog.context(self.settings.context)
        async with await open_session(context, around, connects=connects, fetches=fetches) as session:
            self._warn(context)
            if session.server is not None and self.settings.verbosity > 1:
                from homeostat.cli.sync.console.exchange import print_exchange

                session.server.trace = partial(print_exchange, self.settings, session)
            if path:
                await session.load(path, is_recursive=is_recursive, depth=depth)
            yield session

    def _warn(self, context: JsonObject) -> None:
        from homeostat.operators.sync.context.document import expanded

        http = expanded(context.get("managedService", {}).get("http", {}), self.environment)
        if str(http.get("url", "")).startswith("http://"):
            self.warn("managedService.http.url uses plain http; credentials and payloads are readable on the way")
        if str(http.get("auth", {}).get("oauth2", {}).get("tokenURL", "")).startswith("http://"):
            self.warn("managedService.http.auth.oauth2.tokenURL uses plain http; the client's secret is readable")

    def warn(self, text: str) -> None:
        if not self.settings.ignores_warnings:
            click.echo(f"{paint('[WARNING]', 'yellow', sys.stderr)} {self.scrubber.scrub(text)}", err=True)


def sync_command(
    *, changes: bool = False
) -> Callable[[Callable[Concatenate[Run, P], Awaitable[None]]], Callable[P, None]]:
    """A command whose function gets the run. One that changes something ends with a status line."""

    def decorate(function: Callable[Concatenate[Run, P], Awaitable[None]]) -> Callable[P, None]:
        @wraps(function)
        def command(*arguments: P.args, **options: P.kwargs) -> None:
            run = Run(settings_of(click.get_current_context(), os.environ), os.environ)
            try:
                asyncio.run(_awaited(function(run, *arguments, **options)))
            except (SyncError, OSError) as raised:
                error = raised if isinstance(raised, SyncError) else SyncError(_of_file(raised))
                text = run.scrubber.scrub(str(error)).rstrip(".")
                raise SyncFailure(error, text, has_status=changes and not run.settings.is_quiet) from None
            if changes and not run.settings.is_quiet:
                click.echo(f"{paint('[OK]', 'green', sys.stderr)} command executed successfully.", err=True)

        return command

    return decorate


def _ask() -> Ask | None:
    """A question on the terminal; None if there is none."""
    if not sys.stdin.isatty():
        return None
    return lambda text, is_hidden: str(click.prompt(text, hide_input=is_hidden, err=True))


def _of_file(error: OSError) -> str:
    return f"{error.filename}: {error.strerror}" if error.filename else str(error)


async def _awaited(work: Awaitable[None]) -> None:
    await work


_PATH: Final = click.option("-p", "--path", "path_option", default=None, help="The path, instead of the argument.")


def path_arguments(function: Callable[..., None]) -> Callable[..., None]:
    """`PATH` as an argument or as `-p`."""
    return click.argument("path", required=False, default=None, shell_complete=complete_path)(_PATH(function))


def path_and_word(name: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """`PATH WORD`, or `WORD` with `-p PATH`; `chosen_pair` tells them apart."""

    def decorate(function: Callable[..., None]) -> Callable[..., None]:
        return click.argument("words", nargs=-1, metavar=f"PATH {name}", shell_complete=complete_path)(_PATH(function))

    return decorate


def chosen_pair(words: Sequence[str], path: str | None, name: str) -> tuple[str, str]:
    """The path and the word behind it."""
    given = [path, *words] if path is not None and words[:1] != (path,) else [*words]
    match given:
        case [where, word] if word.strip():
            return where, word
        case _:
            what = f"PATH {name.upper()}, or --path PATH {name.upper()}"
            raise ValidationError(f"a path and a {name} are required: {what}")


def chosen_text(argument: str | None, option: str | None) -> str:
    if argument is not None and option is not None and argument != option:
        raise ValidationError(f'the path is given twice: "{argument}" and --path "{option}"')
    found = argument if argument is not None else option
    if found is None:
        raise ValidationError("a path is required; give it as an argument or with --path")
    return found


def chosen_target(argument: str | None, option: str | None) -> Target:
    return parse(chosen_text(argument, option))

"""Groups of commands. A command is a module with a `command`, imported only when it is used.

A group prints what goes wrong in one form, and suggests a name for one that does not exist.
"""

from __future__ import annotations

import shlex
import sys
from collections.abc import Mapping, Sequence
from importlib import import_module
from keyword import iskeyword
from typing import TYPE_CHECKING, Any

import click

from homeostat.cli.console.colour import colour_of_one_run, colour_option
from homeostat.cli.console.failure import INTERRUPTED, print_error, usage_text

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem


class Group(click.Group):
    """Adds `--color` and exit codes to the help of its commands, suggests names, and prints errors in the one form."""

    exit_codes = "0 success, 1 refused or failed, 2 wrong usage"
    """Of commands whose help names none."""
    exit_code_of_unreachable = ", 3 the server cannot be reached"
    """Of those that connect to a server."""

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        command = super().get_command(ctx, cmd_name)
        return self.completed(command) if command is not None else None

    def completed(self, command: click.Command) -> click.Command:
        options = {name for each in command.params for name in each.opts}
        if "--color" not in options:
            command.params.append(colour_option())
        if (
            not isinstance(command, click.Group)
            and not command.epilog
            and "exit codes" not in str(command.help).lower()
        ):
            unreachable = self.exit_code_of_unreachable if "--kubeconfig" in options else ""
            command.epilog = f"Exit codes: {self.exit_codes}{unreachable}."
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if not args[0].startswith("-") and not ctx.resilient_parsing and self.get_command(ctx, args[0]) is None:
            raise click.UsageError(self.unknown(ctx, args[0]), ctx)
        return super().resolve_command(ctx, args)

    def unknown(self, ctx: click.Context, name: str) -> str:
        from difflib import get_close_matches

        near = get_close_matches(name, self.list_commands(ctx), n=1)
        return f'there is no command "{name}"' + (f'; did you mean "{near[0]}"?' if near else "")

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        **extra: Any,
    ) -> Any:
        if not standalone_mode:
            return super().main(args, prog_name, complete_var, standalone_mode=False, **extra)
        with colour_of_one_run():
            try:
                code = super().main(args, prog_name, complete_var, standalone_mode=False, **extra)
            except click.ClickException as error:
                code = _shown(error)
            except click.Abort:
                code = INTERRUPTED
        sys.exit(code if isinstance(code, int) else 0)


class LazyGroup(Group):
    """The commands of one package.

    `members` has the help of each command; in a large group `sections` has them under headings instead. A command is
    the module of `package` with its name, or the one that `modules` gives it, which may name another attribute than
    `command`: `session:hook`. `former` has earlier names: they work,
    and help does not list them. `instead` has names that users of other tools may try, and what to use here.
    """

    def __init__(
        self,
        *arguments: Any,
        package: str,
        members: Mapping[str, str] = {},
        sections: Mapping[str, Mapping[str, str]] = {},
        modules: Mapping[str, str] = {},
        former: Mapping[str, str] = {},
        instead: Mapping[str, str] = {},
        **options: Any,
    ) -> None:
        super().__init__(*arguments, **options)
        self._package, self._modules, self._former = package, modules, former
        self._instead = instead
        self._sections = sections or {"Commands": members}
        self._members = {name: text for each in self._sections.values() for name, text in each.items()}

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self._members)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        name = self._former.get(cmd_name, cmd_name)
        if name not in self._members:
            return None
        module = self._modules.get(name) or name.replace("-", "_") + ("_" if iskeyword(name) else "")
        module, _, attribute = module.partition(":")
        command: click.Command = getattr(import_module(f"{self._package}.{module}"), attribute or "command")
        return self.completed(command)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        given = [*args]
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            if error.possibilities or not any(each in self._members for each in given):
                raise
            raise click.UsageError(self._misplaced(ctx, error.option_name, given), ctx) from error

    def _misplaced(self, ctx: click.Context, option: str, given: Sequence[str]) -> str:
        """An option of a command stands before the command, as kubectl allows it."""
        at = next(number for number, each in enumerate(given) if each in self._members)
        moved = shlex.join([*ctx.command_path.split(), *given[at:], *given[:at]])
        return f"there is no option {option} before the command; options follow it: {moved}"

    def unknown(self, ctx: click.Context, name: str) -> str:
        if name in self._instead:
            return f'there is no command "{name}"; {self._instead[name]}'
        return super().unknown(ctx, name)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Without importing the commands, as click would do to ask them for their help."""
        from click.shell_completion import CompletionItem

        commands = [CompletionItem(name, help=text) for name, text in self._members.items()]
        options = click.Command.shell_complete(self, ctx, incomplete)
        return [each for each in commands if each.value.startswith(incomplete)] + options

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        width = max(map(len, self._members))
        for heading, members in self._sections.items():
            with formatter.section(heading):
                formatter.write_dl([(name.ljust(width), text) for name, text in members.items()])


def _shown(error: click.ClickException) -> int:
    """Print the error; returns the exit code."""
    if isinstance(error, click.UsageError) and not isinstance(error, click.exceptions.NoArgsIsHelpError):
        print_error(usage_text(error))
    else:
        error.show()
    return error.exit_code

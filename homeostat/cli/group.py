"""Commands under a common word. Each is a module with a `command`, imported only when it is used."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from keyword import iskeyword
from typing import Any

import click


class LazyGroup(click.Group):
    """The commands of one package.

    `members` has the help of each command. A command is the module of `package` with its name, or the one that
    `modules` gives it. `former` has earlier names: they work, and help does not list them.
    """

    def __init__(
        self,
        *arguments: Any,
        package: str,
        members: Mapping[str, str],
        modules: Mapping[str, str] = {},
        former: Mapping[str, str] = {},
        **options: Any,
    ) -> None:
        super().__init__(*arguments, **options)
        self._package, self._members, self._modules, self._former = package, members, modules, former

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self._members)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        name = self._former.get(cmd_name, cmd_name)
        if name not in self._members:
            return None
        module = self._modules.get(name) or name.replace("-", "_") + ("_" if iskeyword(name) else "")
        command: click.Command = import_module(f"{self._package}.{module}").command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(self._members.items()))

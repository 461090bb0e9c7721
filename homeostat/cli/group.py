"""Commands under a common word, each a module of this package that is imported only when it is used."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

import click


class LazyGroup(click.Group):
    """`members` says for each command what it does; its module is `<prefix><name>`, and has the `command`."""

    def __init__(self, *arguments: Any, prefix: str, members: Mapping[str, str], **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._prefix, self._members = prefix, members

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self._members)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self._members:
            return None
        name = cmd_name.replace("-", "")
        command: click.Command = import_module(f"homeostat.cli.{self._prefix}{name}").command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(self._members.items()))

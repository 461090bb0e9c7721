"""The help of every command: an imperative first line, examples and exit codes."""

from __future__ import annotations

import re
from collections.abc import Iterator

import click
import pytest

from homeostat.cli.main import main

_is_imperative = re.compile(
    "(Add|Allow|Answer|Apply|Cancel|Change|Check|Choose|Commit|Compare|Copy|Create|Delete|Describe|"
    "Discard|Fetch|Keep|List|Open|Print|Push|Read|Remove|Rename|Replace|Reset|Resolve|Restore|Revert|"
    "Revoke|Run|Save|Send|Serve|Set|Show|Start|Stop|Store|Trigger|Update|Validate|Wait|Work|Write)[ ,]"
).match
_has_examples = re.compile(r"^ *Examples?:$", re.MULTILINE).search
_names_codes = re.compile("exit codes:", re.IGNORECASE).search


def _commands(group: click.Group, ctx: click.Context) -> Iterator[click.Context]:
    for name in group.list_commands(ctx):
        command = group.get_command(ctx, name)
        assert command is not None
        inner = click.Context(command, ctx, info_name=name)
        yield inner
        if isinstance(command, click.Group):
            yield from _commands(command, inner)


@pytest.fixture(scope="module")
def commands() -> list[click.Context]:
    root = click.Context(main, info_name="homeostat")
    return [root, *_commands(main, root)]


def test_the_help_of_every_command_begins_with_a_verb_and_has_examples(commands: list[click.Context]) -> None:
    helps = {each.command_path: str(each.command.help) for each in commands}
    assert len(helps) > 150
    assert [name for name, text in helps.items() if not _is_imperative(text)] == []
    assert [name for name, text in helps.items() if not _has_examples(text)] == []


def test_the_help_of_every_command_names_its_exit_codes(commands: list[click.Context]) -> None:
    leaves = [each for each in commands if not isinstance(each.command, click.Group)]
    assert [each.command_path for each in leaves if not _names_codes(each.get_help())] == []

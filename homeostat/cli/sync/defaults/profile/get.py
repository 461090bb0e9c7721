"""`homeostat sync resource defaults profile get`: one profile."""

from __future__ import annotations

import click

from homeostat.cli.sync.console.output import print_value
from homeostat.cli.sync.console.run import Run, chosen_pair, chosen_target, path_and_word, sync_command
from homeostat.operators.sync.engine.errors import NotFoundError


@click.command("get", short_help="Print a profile.")
@path_and_word("PROFILE")
@sync_command()
async def command(run: Run, words: tuple[str, ...], path_option: str | None) -> None:
    """Print the values of a profile of defaults.

    \b
    Examples:
      homeostat sync resource defaults profile get /customers/ big
    """
    path, name = chosen_pair(words, path_option, "profile")
    target = chosen_target(path, None)
    async with run.session(target.path, connects=False) as session:
        blocks = [each.defaults for each in session.metadata.layers(target.path, is_collection=target.is_collection)]
        found = [each["profiles"][name] for each in blocks if each is not None and name in each.get("profiles", {})]
        if not found:
            raise NotFoundError(f'{target.path} has no profile "{name}" of defaults')
        print_value(run, found[-1])

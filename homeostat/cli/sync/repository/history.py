"""`homeostat sync repository history`: the commits."""

from __future__ import annotations

import click

from homeostat.cli.sync.console.run import Run, sync_command
from homeostat.cli.sync.repository.commits import working_tree


@click.command("history", short_help="Print the commits.")
@click.option("--max-count", type=click.IntRange(1), default=None, help="At most so many commits.")
@click.option("--author", default=None, help="Only commits of this author.")
@click.option("--grep", default=None, help="Only commits whose message has this text.")
@click.option("--since", default=None, help="Only commits after this date.")
@click.option("--until", default=None, help="Only commits before this date.")
@click.option("--path", "paths", multiple=True, help="Only commits that change this path. Repeatable.")
@click.option("--reverse", is_flag=True, help="The oldest first.")
@click.option("--oneline", is_flag=True, help="One line a commit.")
@sync_command()
async def command(
    run: Run,
    max_count: int | None,
    author: str | None,
    grep: str | None,
    since: str | None,
    until: str | None,
    paths: tuple[str, ...],
    reverse: bool,
    oneline: bool,
) -> None:
    """Print the commits of the repository.

    \b
    Examples:
      homeostat sync repository history --oneline
    """
    values = {"max-count": max_count, "author": author, "grep": grep, "since": since, "until": until}
    options = [f"--{name}={value}" for name, value in values.items() if value is not None]
    options += ["--fixed-strings"] if grep is not None else []
    options += [f"--{name}" for name, is_set in (("reverse", reverse), ("oneline", oneline)) if is_set]
    options += ["--", *(f":(literal){each.strip('/')}" for each in paths)] if paths else []
    async with run.session(connects=False) as session:
        if not session.is_git:
            click.echo("history is not supported for filesystem repositories")
            return
        click.echo(await working_tree(session).history(options), nl=False)

"""`homeostat sync context show`: a context as the file has it, in YAML."""

from __future__ import annotations

import click

from homeostat.cli.sync.console.flags import SHOW_SECRETS
from homeostat.cli.sync.console.run import Run, sync_command
from homeostat.operators.sync.context.document import masked
from homeostat.operators.sync.engine.errors import ValidationError
from homeostat.operators.sync.engine.payload import yaml


@click.command("show", short_help="Print a context as the file has it.")
@click.argument("name", required=False)
@SHOW_SECRETS
@sync_command()
async def command(run: Run, name: str | None, show_secrets: bool) -> None:
    """Print a context as the file has it.

    \b
    Examples:
      homeostat sync context show production
    """
    if run.settings.output == "json":
        raise ValidationError("show prints YAML or text; -o json is not supported")
    found = (await run.catalog()).context(name or run.settings.context)
    shown = {key: item for key, item in found.items() if item != {}}
    click.echo(yaml.dump(shown if show_secrets else masked(shown), is_sorted=False), nl=False)

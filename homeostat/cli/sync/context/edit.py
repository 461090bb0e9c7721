"""`homeostat sync context edit`: a context in an editor."""

from __future__ import annotations

import click

from homeostat.cli.sync.console.editor import EDITOR, edited_text
from homeostat.cli.sync.console.run import Run, sync_command
from homeostat.operators.sync.context.document import read_context
from homeostat.operators.sync.engine.errors import ValidationError
from homeostat.operators.sync.engine.payload import yaml


@click.command("edit", short_help="Edit a context.")
@click.argument("name", required=False)
@EDITOR
@sync_command(changes=True)
async def command(run: Run, name: str | None, editor: str | None) -> None:
    """Open a context in an editor, and keep it when the editor ends. An invalid one is refused.

    \b
    Examples:
      homeostat sync context edit production
    """
    catalog = await run.catalog()
    context = catalog.context(name or run.settings.context)
    shown = {key: item for key, item in context.items() if item != {}}
    text = yaml.dump(shown, is_sorted=False).decode()
    edited = await edited_text(run, text, editor, extension=".yaml", instead="context update -f")
    if edited is not None:
        changed = read_context(yaml.load(edited.encode()))
        if changed["name"] != context["name"]:
            raise ValidationError("edit keeps the name of a context; use `context rename` instead")
        await run.change_catalog(lambda now: now.updated(changed))

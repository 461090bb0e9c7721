"""`homeostat sync secret set`: stores a secret."""

from __future__ import annotations

import click

from homeostat.cli.sync.console.run import Run, sync_command
from homeostat.cli.sync.secret.key import chosen_key, key_arguments
from homeostat.operators.sync.engine.errors import ValidationError


@click.command("set", short_help="Store a secret.")
@key_arguments
@sync_command(changes=True)
async def command(run: Run, words: tuple[str, ...], path_option: str | None, key_option: str | None) -> None:
    """Store a secret; the last argument is its value.

    \b
    Examples:
      homeostat sync secret set apiToken s3cr3t
      homeostat sync secret set /customers/acme /apiToken s3cr3t
    """
    if not words:
        raise ValidationError("a value is required: secret set KEY VALUE")
    key = chosen_key(words[:-1], path_option, key_option)
    run.scrubber.hide(words[-1])
    async with run.session(connects=False) as session:
        await session.secrets.put({key: words[-1]})

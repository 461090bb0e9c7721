"""`homeostat sync context print-template`: a template of a context."""

from __future__ import annotations

import click

from homeostat.cli.sync.console.run import Run, sync_command

_TEMPLATE = """\
name: production
repository:
    git:
        local:
            baseDir: /path/to/repository
        # remote: {url: https://git.example.com/team/api.git, branch: main}
managedService:
    http:
        url: https://api.example.com
        # openapi: /path/to/openapi.json
        auth:
            # one of: oauth2, basic, customHeaders
            customHeaders:
                - header: Authorization
                  prefix: Bearer
                  value: ${API_TOKEN}
secretStore:
    file:
        path: /path/to/secrets.json
        passphrase: ${SECRETS_PASSPHRASE}
"""


@click.command("print-template", short_help="Print a commented template of a context.")
@sync_command()
async def command(_: Run) -> None:
    """Print a template to start from.

    \b
    Examples:
      homeostat sync context print-template > context.yaml
    """
    click.echo(_TEMPLATE, nl=False)

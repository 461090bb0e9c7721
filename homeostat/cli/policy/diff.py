"""`homeostat policy diff`: compares policies of files with those of a cluster."""

from __future__ import annotations

import click

from homeostat.cli.console.connection import Connection, connected
from homeostat.cli.policy.files.policies import policy_manifests
from homeostat.cli.policy.stored import get_policy, with_namespace
from homeostat.operators.policy.document import PolicyDocumentError, compare_policy, read_policy

_STYLES = {"[=]": "", "[+]": "green", "[~]": "yellow", "[!]": "red", "  -": "red", "  +": "green"}


@click.command(short_help="Compare policies of files with a cluster's.")
@click.argument("files", nargs=-1, required=True, metavar="FILE|-...")
@connected
async def command(connection: Connection, files: tuple[str, ...]) -> None:
    """Compare policies of files with those of a cluster: [=] equal, [~] different, [+] only in the file, [!] invalid.

    Exits with 0 if all are equal, otherwise with 1.

    \b
    Examples:
      homeostat policy diff policies.yaml
      homeostat policy export --context staging | homeostat policy diff - --context production
    """
    is_equal = True
    for path in files:
        for _, policy in policy_manifests(path):
            local = with_namespace(policy, connection.namespace)
            remote = None
            try:
                read_policy(local)
            except PolicyDocumentError:
                pass
            else:
                remote = await get_policy(connection.client, local)
            lines = compare_policy(local, remote)
            is_equal = is_equal and lines[0].startswith("[=]")
            for line in lines:
                click.secho(line, fg=_STYLES.get(line[:3]) or None)
    if not is_equal:
        raise click.exceptions.Exit(1)

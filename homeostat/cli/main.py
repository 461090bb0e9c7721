"""The `homeostat` command. Sub-commands are imported only when used, so that each costs what it needs itself.

Exit codes: 0 done, 1 refused or failed, 2 wrong usage, 3 the server cannot be reached, 130 interrupted.
"""

from __future__ import annotations

from importlib import import_module

import click

from homeostat import __version__

_COMMANDS = {
    "up": "Start the control plane.",
    "run": "Run operators on a cluster.",
    "crds": "Print the CustomResourceDefinitions of operators.",
    "policy": "Judge manifests and clusters by policies.",
    "get": "Print objects as a table, JSON or YAML.",
    "describe": "Print all about an object: fields, conditions, events.",
    "watch": "Print objects as they change.",
    "apply": "Make objects as files declare them.",
    "delete": "Delete objects by name or by file.",
    "kubeconfig": "Print the kubeconfig of a data directory.",
    "backup": "Write all objects to a file, or check such a file.",
    "restore": "Fill an empty database from a backup.",
    "migrate-store": "Move a plane to another database.",
    "token": "Create, list and revoke bearer tokens.",
    "version": "Print the version.",
}


class LazyGroup(click.Group):
    """A group whose commands are modules of this package, each with its `command`."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _COMMANDS:
            return None
        command: click.Command = import_module(f"homeostat.cli.{cmd_name.replace('-', '')}").command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(_COMMANDS.items()))


@click.command(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(__version__, message="%(prog)s %(version)s")
def main() -> None:
    """A control plane that speaks the Kubernetes API on SQLite, and a small client for any Kubernetes API.

    \b
    Examples:
      homeostat up
      homeostat get namespaces
      homeostat apply -f manifests/
    """

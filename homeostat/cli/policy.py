"""`homeostat policy`: policies on files, on live clusters and in exchange. Sub-commands are imported only when used.

The original's names are taken too, so that scripts go on working; help shows the new ones.
"""

from __future__ import annotations

from importlib import import_module
from typing import Final

import click

COMMANDS: Final = {
    "check": "Judge manifests, without any cluster.",
    "analyze": "Judge the Pods of live clusters.",
    "contexts": "List the contexts of the kubeconfig.",
    "list": "List the Pods of a cluster and their nodes.",
    "bundles": "List the policies that ship with the operator.",
    "bundle": "Print one of them as a DevOpsPolicy.",
    "export": "Print the policies of a cluster as files.",
    "import": "Apply policies of files to a cluster.",
    "diff": "Compare policies of files with a cluster's.",
    "watch": "Show policies and their scores, live.",
    "revert": "Take back what enforcement injected into a workload.",
    "webhook": "Judge Pods at admission.",
    "deploy": "Print the manifests that run the operator in a cluster.",
}
_FORMER: Final = {
    "bundle-list": "bundles",
    "bundle-show": "bundle",
    "bundle-apply": "bundle",
    "list-contexts": "contexts",
}


class PolicyGroup(click.Group):
    """A group whose commands are the modules `policy<name>` of this package, each with its `command`."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        name = _FORMER.get(cmd_name, cmd_name)
        if name not in COMMANDS:
            return None
        command: click.Command = import_module(f"homeostat.cli.policy{name}").command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.command(cls=PolicyGroup, short_help="Judge manifests and clusters by policies.")
def command() -> None:
    """Judge Pods by policies: in files, in live clusters and at admission, with one engine.

    \b
    Examples:
      homeostat policy check manifests/ --bundle hardened
      homeostat policy analyze --contexts staging,production
      homeostat policy bundle restricted --namespace shop | kubectl apply -f -
      homeostat policy watch -A
    """

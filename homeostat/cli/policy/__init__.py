"""`homeostat policy`: checks files and live clusters, and imports and exports policies. Sub-commands are imported only
when used.

The names of the original's commands work too, so that scripts keep working; help shows the new names.
"""

from __future__ import annotations

from typing import Final

import click

from homeostat.cli.group import LazyGroup

COMMANDS: Final = {
    "check": "Check manifests, without a cluster.",
    "analyze": "Check the Pods of live clusters.",
    "doctor": "Check the connection and the permissions.",
    "contexts": "List the contexts of the kubeconfig.",
    "list": "List the Pods of a cluster and their nodes.",
    "bundles": "List the policies that ship with the operator.",
    "bundle": "Print a shipped policy as a DevOpsPolicy.",
    "export": "Print the policies of a cluster as files.",
    "import": "Apply policies of files to a cluster.",
    "diff": "Compare policies of files with a cluster's.",
    "watch": "Show policies and their scores, live.",
    "revert": "Revert what enforcement injected into a workload.",
    "webhook": "Check Pods at admission.",
    "deploy": "Print the manifests that run the operator in a cluster.",
}
_FORMER: Final = {
    "bundle-list": "bundles",
    "bundle-show": "bundle",
    "bundle-apply": "bundle",
    "list-contexts": "contexts",
}


@click.command(
    cls=LazyGroup,
    package=__name__,
    members=COMMANDS,
    former=_FORMER,
    short_help="Check manifests and clusters against policies.",
)
def command() -> None:
    """Check Pods against policies: in files, in live clusters and at admission, with one engine.

    \b
    Examples:
      homeostat policy check manifests/ --bundle hardened
      homeostat policy analyze --contexts staging,production
      homeostat policy bundle restricted --namespace shop | kubectl apply -f -
      homeostat policy watch -A
    """

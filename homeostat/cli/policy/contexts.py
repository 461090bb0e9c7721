"""`homeostat policy contexts`: lists the contexts for `analyze --contexts`."""

from __future__ import annotations

import click

from homeostat.cli.console.connection import reporting_errors
from homeostat.cli.console.kubeconfig import kubeconfig_paths
from homeostat.cli.console.output import is_table, output_option, print_list
from homeostat.cli.console.table import Table
from homeostat.client.endpoint.kubeconfig import KubeconfigError, load_contexts, load_endpoint


@click.command(short_help="List the contexts of the kubeconfig.")
@output_option
@click.option("--kubeconfig", default="", metavar="FILE", help="Kubeconfig.  [default: as for other commands]")
def command(kubeconfig: str, output: str) -> None:
    """List the contexts of the kubeconfig with their servers, without a connection to them. `*` marks the current one.

    \b
    Examples:
      homeostat policy contexts
      homeostat policy analyze --contexts staging,production
    """
    with reporting_errors():
        paths = kubeconfig_paths(kubeconfig)
        current, names = load_contexts(paths)
        rows = []
        for name in names:
            try:
                endpoint = load_endpoint(paths, context=name)
                rows.append(("*" if name == current else "", name, endpoint.server, endpoint.namespace))
            except KubeconfigError as error:
                rows.append(("*" if name == current else "", name, f"unusable: {error}", ""))
    if not is_table(output):
        records = [
            {"name": name, "server": server, "namespace": namespace, "isCurrent": bool(mark)}
            for mark, name, server, namespace in rows
        ]
        print_list(records, output, name=lambda each: str(each["name"]))
        return
    Table(("CURRENT", "NAME", "SERVER", "NAMESPACE")).print(rows)

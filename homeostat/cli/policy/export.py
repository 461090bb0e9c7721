"""`homeostat policy export`: prints the policies of a cluster, to be compared or imported elsewhere."""

from __future__ import annotations

from datetime import UTC, datetime

import click

from homeostat.cli.console.connection import Connection, connected
from homeostat.cli.console.kubeconfig import kubeconfig_paths
from homeostat.cli.console.output import documents_option, print_objects
from homeostat.cli.policy.stored import list_policies
from homeostat.client.endpoint.kubeconfig import load_contexts
from homeostat.operators.policy.document import export_policies


@click.command(short_help="Print the policies of a cluster as files.")
@click.option("-A", "--all-namespaces", is_flag=True, help="Of all namespaces, and those of the cluster.")
@documents_option
@connected
async def command(connection: Connection, all_namespaces: bool, output: str) -> None:
    """Print policies without the fields that a server adds. Annotations say when and from where they were exported.

    \b
    Examples:
      homeostat policy export --namespace shop > policies.yaml
      homeostat policy export -A --context production > production.yaml
    """
    namespace = "" if all_namespaces else connection.namespace
    found = await list_policies(connection.client, namespace)
    if not found:
        click.echo(f"There are no policies{f' in namespace {namespace}' if namespace else ''}.", err=True)
        return
    policies = export_policies(found, context=_context(), now=datetime.now(UTC))
    print_objects(policies, output)


def _context() -> str:
    """The name of the context that this command uses."""
    options = click.get_current_context().params
    return str(options["context"] or load_contexts(kubeconfig_paths(options["kubeconfig"]))[0])

"""`homeostat crds`: prints the definitions of the operators' kinds, for `kubectl apply -f -`."""

from __future__ import annotations

import click

from homeostat.cli.console.output import documents_option, print_objects
from homeostat.cli.operators.choice import described_operators, operators_option


@click.command(short_help="Print the CustomResourceDefinitions of operators.")
@operators_option
@documents_option
def command(operators: str, output: str) -> None:
    """Print the CustomResourceDefinitions of operators, to be applied to a cluster.

    \b
    Examples:
      homeostat crds | kubectl apply --server-side -f -
      homeostat crds --operators policy
      homeostat crds --operators ./greeter.py -o json
    """
    chosen = described_operators(operators).values()
    print_objects([definition for each in chosen for definition in each.definitions()], output)

"""`homeostat crds`: the definitions of the operators' kinds, for `kubectl apply -f -`."""

from __future__ import annotations

import click

from homeostat.cli.operators import chosen_operators, operators_option
from homeostat.cli.output import list_of, print_object


@click.command(short_help="Print the CustomResourceDefinitions of operators.")
@operators_option
@click.option("-o", "--output", type=click.Choice(["yaml", "json"]), default="yaml", show_default=True)
def command(operators: str, output: str) -> None:
    """Print the CustomResourceDefinitions of operators, to be applied to a cluster.

    \b
    Examples:
      homeostat crds | kubectl apply --server-side -f -
      homeostat crds --operators policy
      homeostat crds --operators ./greeter.py -o json
    """
    definitions = [kind.definition() for module in chosen_operators(operators).values() for kind in module.KINDS]
    if output == "json":
        print_object(list_of(definitions), output)
        return
    for number, definition in enumerate(definitions):
        print_object(definition, output, is_first=number == 0)

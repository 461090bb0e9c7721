"""`homeostat crds`: the definitions of the operators' kinds, for `kubectl apply -f -`."""

from __future__ import annotations

import click

from homeostat.cli.console.failure import Failure
from homeostat.cli.console.output import documents_option, print_objects
from homeostat.cli.operators.choice import chosen_operators, operators_option


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
    from homeostat.operators.catalog import BrokenOperatorError, definitions_of

    chosen = chosen_operators(operators)
    try:
        definitions = [each for name, module in chosen.items() for each in definitions_of(name, module)]
    except BrokenOperatorError as error:
        raise Failure(str(error)) from error
    print_objects(definitions, output)

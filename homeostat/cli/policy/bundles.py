"""`homeostat policy bundles`: lists the policies that ship with the operator."""

from __future__ import annotations

import click
import msgspec

from homeostat.cli.console.output import is_table, output_option, print_list
from homeostat.cli.console.table import Table
from homeostat.operators.policy.bundle import NAMES, Bundle, load_bundle


@click.command(short_help="List the policies that ship with the operator.")
@output_option
def command(output: str) -> None:
    """List the policies that ship with the operator.

    \b
    Examples:
      homeostat policy bundles
      homeostat policy bundle hardened
    """
    found = [load_bundle(name) for name in NAMES]
    if not is_table(output):
        print_list([msgspec.to_builtins(each) for each in found], output, name=lambda each: str(each["name"]))
        return
    Table(("NAME", "CHECKS", "MODE", "DESCRIPTION")).print(map(_row, found))


def _row(bundle: Bundle) -> tuple[object, ...]:
    spec = bundle.spec
    evaluated = (name for name in spec.__struct_fields__ if name.startswith(("forbid", "require", "max", "min")))
    return bundle.name, sum(bool(getattr(spec, name)) for name in evaluated), spec.enforcement_mode, bundle.description

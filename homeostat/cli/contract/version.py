"""`homeostat contract version`: for scripts that print the version of the tool they run."""

from __future__ import annotations

import click

from homeostat import __version__
from homeostat.cli.contract.session.result import print_result
from homeostat.cli.contract.session.settings import current_settings
from homeostat.operators.contracts.engine.document.contract import VERSIONS


@click.command(short_help="Print the version.")
def command() -> None:
    """Print the version of homeostat, and the versions of contracts that it reads.

    \b
    Examples:
      homeostat contract version
      homeostat contract version -o json
    """
    fields = {"version": __version__, "contractVersions": list(VERSIONS)}
    print_result(
        current_settings(), lambda: fields, lambda: f"homeostat {__version__} (contracts {', '.join(VERSIONS)})"
    )

"""`homeostat monitoring`: the alerts and dashboards of the plane, the runtime and the operators. Sub-commands are
imported only when used.

What is alerted on and shown is data: `SIGNALS` of `plane/signals.py` and `runtime/telemetry/signals.py`, and `ALERTS`
and `PANELS` of each operator. This package renders it, for `homeostat deploy`, the chart and the commands here alike.
"""

from __future__ import annotations

from typing import Final

import click

from homeostat.cli.group import LazyGroup

COMMANDS: Final = {
    "rules": "Print the alerts as a rule file of Prometheus.",
    "dashboards": "Write the Grafana dashboards to files.",
}


@click.command(cls=LazyGroup, package=__name__, members=COMMANDS, short_help="Print alerts and dashboards.")
def command() -> None:
    """Print the alerts and the Grafana dashboards of a plane, of the controllers and of operators.

    For operators in a cluster, `homeostat deploy --monitoring` prints the same as objects.

    \b
    Examples:
      homeostat monitoring rules > homeostat.rules.yaml
      homeostat monitoring rules --job plane --operators policy,images
      homeostat monitoring dashboards --output-dir dashboards/
    """

"""`homeostat monitoring dashboards`: writes the Grafana dashboards to files."""

from __future__ import annotations

from pathlib import Path

import click
import msgspec

from homeostat.cli.console.failure import Failure
from homeostat.cli.monitoring.grafana import signals_dashboard
from homeostat.cli.monitoring.signals import chosen_signals, signals_options


@click.command(short_help="Write the Grafana dashboards to files.")
@signals_options
@click.option(
    "--output-dir",
    default=".",
    show_default=True,
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIR",
    help="Where to write; created if it does not exist.",
)
def command(operators: str, has_plane: bool, output_dir: Path) -> None:
    """Write a Grafana dashboard for the plane, one for the controllers, and one for each operator that declares one.

    Import them in Grafana, or let it read the directory. Each asks for the data source, the job and the namespace.

    \b
    Examples:
      homeostat monitoring dashboards --output-dir dashboards/
      homeostat monitoring dashboards --operators policy --no-plane
    """
    try:
        output_dir.mkdir(parents=True, exist_ok=True)
        for each in chosen_signals(operators, has_plane=has_plane):
            path = output_dir / f"homeostat-{each.name}.json"
            path.write_bytes(msgspec.json.format(msgspec.json.encode(signals_dashboard(each)), indent=2) + b"\n")
            click.echo(str(path))
    except OSError as error:
        raise Failure(f"cannot write {error.filename}: {error.strerror}") from error

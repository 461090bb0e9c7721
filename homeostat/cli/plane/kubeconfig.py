"""`homeostat kubeconfig`: prints the kubeconfig of the plane in a data directory."""

from __future__ import annotations

from pathlib import Path

import click

from homeostat.cli.console.failure import Failure
from homeostat.cli.plane.data_directory import data_option


@click.command(short_help="Print the kubeconfig of a data directory.")
@data_option
@click.option("--path", "path_only", is_flag=True, help="Print the path of the file instead of its content.")
def command(data: Path, path_only: bool) -> None:
    """Print the administrator's kubeconfig, written when the plane was last started.

    \b
    Examples:
      export KUBECONFIG=$(homeostat kubeconfig --path)
      homeostat kubeconfig > admin.kubeconfig
    """
    path = data.absolute() / "kubeconfig"
    try:
        text = path.read_text()
    except FileNotFoundError as error:
        raise Failure(f"there is no kubeconfig in {path.parent}; start the plane once: homeostat up") from error
    except OSError as error:
        raise Failure(f"cannot read {path}: {error.strerror}") from error
    click.echo(str(path) if path_only else text, nl=path_only)

"""`homeostat policy list pods`: lists the Pods of a cluster with their nodes, in the columns of the original."""

from __future__ import annotations

import click
import msgspec

from homeostat.cli.console.connection import Connection, connected
from homeostat.cli.console.failure import one_line
from homeostat.cli.console.output import is_table, output_option, print_list, without_managed_fields
from homeostat.cli.objects.kinds import with_type_meta
from homeostat.client.projection import Projection
from homeostat.client.requests import Selection
from homeostat.objects.kind import POD

_WIDTHS = (20, 60, 12, 15)
_HEADINGS = ("NAMESPACE", "NAME", "STATUS", "NODE")


class _Metadata(msgspec.Struct, frozen=True):
    name: str = ""
    namespace: str = ""


class _Spec(msgspec.Struct, frozen=True, rename="camel"):
    node_name: str | None = None


class _Status(msgspec.Struct, frozen=True):
    phase: str | None = None


class _Pod(msgspec.Struct, frozen=True):
    metadata: _Metadata = _Metadata()
    spec: _Spec | None = None
    status: _Status | None = None

    @property
    def row(self) -> tuple[str, str, str, str]:
        phase = self.status.phase if self.status is not None else None
        node = self.spec.node_name if self.spec is not None else None
        return self.metadata.namespace, self.metadata.name, phase or "Unknown", node or "Not Scheduled"


@click.command("list", short_help="List the Pods of a cluster and their nodes.")
@click.argument("resource", type=click.Choice(["pods"]))
@output_option
@connected
async def command(connection: Connection, resource: str, output: str) -> None:
    """List all Pods of a cluster, or with --namespace those of one namespace.

    \b
    Examples:
      homeostat policy list pods
      homeostat policy list pods --namespace shop
      homeostat policy list pods -o name
    """
    namespace = str(click.get_current_context().params["namespace"])
    if not is_table(output):
        pods, _ = await connection.client.list(POD.path(namespace))
        print_list([with_type_meta(POD, without_managed_fields(each)) for each in pods], output)
        return
    rows = [each.row async for each in Projection(connection.client, POD, _Pod).list(Selection(namespace))]
    click.echo(_line(_HEADINGS))
    click.echo("-" * sum(_WIDTHS))
    for row in sorted(rows):
        click.echo(_line(row))
    click.echo(f"\nTotal: {len(rows)} {resource}")


def _line(cells: tuple[str, ...]) -> str:
    """A cell that is too long for its column is followed by a space."""
    texts = (one_line(each) for each in cells)
    padded = (
        each.ljust(width) if len(each) < width else f"{each} " for each, width in zip(texts, _WIDTHS, strict=True)
    )
    return "".join(padded).rstrip()

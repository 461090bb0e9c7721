"""`homeostat sync bundle use`: sets the bundle of a context."""

from __future__ import annotations

import click

from homeostat.cli.sync.bundle.show import checked_bundle
from homeostat.cli.sync.console.run import Run, sync_command
from homeostat.operators.sync.context.catalog import Catalog
from homeostat.operators.sync.context.document import read_context


@click.command("use", short_help="Use a bundle in the context.")
@click.argument("reference")
@sync_command(changes=True)
async def command(run: Run, reference: str) -> None:
    """Fetch and check a bundle, and set `metadata.bundle` of the context to it.

    \b
    Examples:
      homeostat sync bundle use keycloak
    """
    await checked_bundle(run, reference)
    await run.change_catalog(lambda catalog: _with_bundle(catalog, run.settings.context, reference))


def _with_bundle(catalog: Catalog, name: str, reference: str) -> Catalog:
    context = catalog.context(name)
    proxy = {"proxy": context["metadata"]["proxy"]} if "proxy" in context.get("metadata", {}) else {}
    return catalog.updated(read_context({**context, "metadata": {"bundle": reference, **proxy}}))

"""`homeostat sync bundle show`: a bundle's manifest and its collections."""

from __future__ import annotations

import click

from homeostat.cli.sync.console.output import is_text, print_value
from homeostat.cli.sync.console.run import Run, sync_command
from homeostat.edge.proxies import read_proxies
from homeostat.external.oci.keychain import docker_keychain
from homeostat.operators.sync.context.bundle import bundle_cache, fetch_bundle
from homeostat.operators.sync.engine.metadata.bundle import Bundle
from homeostat.operators.sync.engine.metadata.document import read_document
from homeostat.operators.sync.engine.metadata.layers import documented, stored_document
from homeostat.operators.sync.engine.paths.logical import segments
from homeostat.operators.sync.engine.paths.selector import Selector


@click.command("show", short_help="Fetch a bundle, check it and print what it has.")
@click.argument("reference")
@sync_command()
async def command(run: Run, reference: str) -> None:
    """Fetch a bundle from any source, check all its documents, and print its manifest and collections.

    \b
    Examples:
      homeostat sync bundle show keycloak
      homeostat sync bundle show oci://registry.example.org/bundles/shop:1.0.0
    """
    bundle = await checked_bundle(run, reference)
    collections = sorted(documented(bundle.metadata))
    if is_text(run):
        click.echo(f"{bundle.name} {bundle.version}  {bundle.manifest.get('description', '')}".rstrip())
        click.echo("".join(f"  {each}\n" for each in collections), nl=False)
    else:
        print_value(run, {"manifest": bundle.manifest, "collections": collections})


async def checked_bundle(run: Run, reference: str) -> Bundle:
    """`ValidationError` if one of its documents is invalid."""
    proxies, cache = read_proxies(run.environment), bundle_cache(run.environment)
    bundle = await fetch_bundle(reference, proxies, keychain=docker_keychain(run.environment), cache=cache)
    for each in documented(bundle.metadata):
        selector = Selector(tuple(segments(each)), True)
        read_document(stored_document(bundle.metadata, selector), is_collection=True)
    if bundle.manifest.get("deprecated"):
        run.warn(f"bundle {bundle.name} {bundle.version} is deprecated")
    return bundle

"""`homeostat webhook`: certificates of admission webhooks, whichever operator serves them."""

from __future__ import annotations

import click

from homeostat.cli.group import LazyGroup


@click.command(
    cls=LazyGroup,
    package=__name__,
    members={"cert-generate": "Create a CA and a certificate."},
    short_help="Create certificates of admission webhooks.",
)
def command() -> None:
    """Create certificates of admission webhooks, for `homeostat deploy`, `homeostat run` and other servers.

    \b
    Examples:
      homeostat webhook cert-generate --service-name homeostat --namespace homeostat --output-dir tls
      homeostat deploy --operators sync --faces-tls tls | kubectl apply --server-side -f -
    """

"""`homeostat webhook cert-generate`: an authority and a certificate for a server that API servers call."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import click

from homeostat.cli.console.failure import Failure

_DIRECTORY = click.Path(file_okay=False, path_type=Path)


def certificate_command(service: str, namespace: str) -> click.Command:
    """The command with these defaults; groups of operators have it with their own."""
    return click.Command(
        "cert-generate",
        callback=_generate,
        params=[
            click.Option(["--service-name"], default=service, show_default=True, help="Service of the webhook."),
            click.Option(["--namespace"], default=namespace, show_default=True, help="Its namespace."),
            click.Option(["--output-dir"], default=".", show_default=True, type=_DIRECTORY, help="For files."),
            click.Option(
                ["--ip-san", "addresses"], multiple=True, metavar="IP", help="An address of the webhook; may repeat."
            ),
            click.Option(
                ["--days"],
                default=365,
                show_default=True,
                type=click.IntRange(1, 36500),
                help="Days until tls.crt expires.",
            ),
        ],
        help="""Create ca.crt, ca.key, tls.crt and tls.key, readable only by their owner.

        The authority is valid for ten years. With ca.key, `homeostat run` and `homeostat policy webhook serve` renew
        tls.crt before it expires.

        \b
        Examples:
          homeostat webhook cert-generate --namespace ops --output-dir tls
          homeostat webhook cert-generate --ip-san 127.0.0.1 --output-dir tls
        """,
        short_help="Create a CA and a certificate.",
    )


def _generate(service_name: str, namespace: str, output_dir: Path, addresses: tuple[str, ...], days: int) -> None:
    from homeostat.server.pki.private_file import write_private
    from homeostat.web.certificates.authority import AddressError, make_certificates

    now, life = datetime.now(UTC), timedelta(days=days)
    try:
        made = make_certificates(service_name, namespace, addresses, now=now, life=life)
    except AddressError as error:
        raise click.UsageError(f"--ip-san: {error}") from error
    except ValueError as error:
        raise click.UsageError(f"--service-name and --namespace: {error}") from error
    try:
        output_dir.mkdir(parents=True, exist_ok=True)
        # The certificate last: a server that reloads it finds its key already there.
        for name, data in (
            ("ca.crt", made.authority),
            ("ca.key", made.authority_key),
            ("tls.key", made.key),
            ("tls.crt", made.certificate),
        ):
            write_private(output_dir / name, data)
            click.echo(output_dir / name)
    except OSError as error:
        raise Failure(f"{output_dir}: {error.strerror}") from error


command = certificate_command("homeostat", "homeostat")

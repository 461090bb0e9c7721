"""`homeostat policy webhook`: serves the admission webhook, creates its certificates, and prints its configuration."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import click

from homeostat.cli.console.connection import reporting_errors
from homeostat.cli.console.endpoint import KUBECONFIG_HELP, chosen_endpoint, read_address, why_not_listening
from homeostat.cli.console.failure import Failure

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from homeostat.cli.policy.files.certificate import DirectoryStorage
    from homeostat.client.base import Client
    from homeostat.client.endpoint.endpoint import Endpoint
    from homeostat.operators.policy.admission.webhook_configuration import FailurePolicy
    from homeostat.runtime.control.recorder import Recorder
    from homeostat.web.admission.renewal import Renewal
    from homeostat.web.admission.tls import FileCertificate

_STOP_WITHIN_S = 12.0
_SERVICE = "kube-devops-webhook"
_FILE = click.Path(dir_okay=False, path_type=Path)


@click.group(short_help="Check Pods at admission.")
def command() -> None:
    """Check Pods when they are created or updated: a validating webhook for any API server.

    \b
    Examples:
      homeostat policy webhook cert-generate --ip-san 127.0.0.1 --output-dir tls
      homeostat policy webhook serve --addr 127.0.0.1:8443 --tls-cert tls/tls.crt --tls-key tls/tls.key
      homeostat policy webhook install-config --ca-bundle-path tls/ca.crt --url https://127.0.0.1:8443/validate \\
        | kubectl apply -f -
    """


@command.command("serve", short_help="Answer admission reviews.")
@click.option("--addr", default="0.0.0.0:8443", show_default=True, metavar="ADDR:PORT", help="Where to listen.")
@click.option("--tls-cert", default="tls.crt", show_default=True, type=_FILE, help="Certificate; reread on change.")
@click.option("--tls-key", default="tls.key", show_default=True, type=_FILE, help="Key of the certificate.")
@click.option("--renew-secret", default="", metavar="NS/NAME", help="Secret of the certificate: renew it there.")
@click.option("--kubeconfig", default="", metavar="FILE", help=KUBECONFIG_HELP)
@click.option("--context", default="", help="Context of the kubeconfig.  [default: its current one]")
@click.option("-v", "--verbose", count=True, help="Log everything.")
def serve(
    addr: str, tls_cert: Path, tls_key: Path, renew_secret: str, kubeconfig: str, context: str, verbose: int
) -> None:
    """Answer admission reviews until Ctrl-C or SIGTERM. The webhook watches policies through the kubeconfig.

    It renews the certificate when a third of its life is left: in the Secret of --renew-secret, or in the files if
    ca.crt and ca.key are beside the key. Otherwise it warns in time that the certificate expires.
    """
    from homeostat.cli.console.logs import set_up_logging
    from homeostat.cli.policy.files.certificate import DirectoryStorage
    from homeostat.edge.loop import run
    from homeostat.web.admission.tls import CertificateError, FileCertificate

    host, port = read_address(addr, option="--addr")
    place = _secret_of(renew_secret) if renew_secret else DirectoryStorage(tls_cert, tls_key)
    set_up_logging(1 + verbose)
    try:
        certificate = FileCertificate(tls_cert, tls_key)
    except CertificateError as error:
        raise Failure(f"{error}; to create one: homeostat policy webhook cert-generate") from error
    with reporting_errors():
        run(_serve(chosen_endpoint(kubeconfig, context), host, port, certificate, place))


@command.command("cert-generate", short_help="Create a CA and a certificate.")
@click.option("--service-name", default=_SERVICE, show_default=True, help="Service of the webhook.")
@click.option("--namespace", default="default", show_default=True, help="Its namespace.")
@click.option(
    "--output-dir", default=".", show_default=True, type=click.Path(file_okay=False, path_type=Path), help="For files."
)
@click.option("--ip-san", "addresses", multiple=True, metavar="IP", help="An address of the webhook; may repeat.")
@click.option(
    "--days", default=365, show_default=True, type=click.IntRange(1, 36500), help="Days until tls.crt expires."
)
def generate(service_name: str, namespace: str, output_dir: Path, addresses: tuple[str, ...], days: int) -> None:
    """Create ca.crt, ca.key, tls.crt and tls.key, readable only by their owner.

    The authority is valid for ten years. With ca.key, `webhook serve` renews tls.crt before it expires.
    """
    from homeostat.server.pki.private_file import write_private
    from homeostat.web.admission.certificates import AddressError, make_certificates

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


@command.command("install-config", short_help="Print the configuration by which an API server calls the webhook.")
@click.option("--ca-bundle-path", required=True, type=_FILE, help="CA that signed the certificate.")
@click.option("--service-name", default=_SERVICE, show_default=True, help="Service of the webhook.")
@click.option("--namespace", default="default", show_default=True, help="Its namespace.")
@click.option("--url", default="", help="URL of the webhook, for an API server without Services.")
@click.option(
    "--failure-policy",
    type=click.Choice(["Ignore", "Fail"]),
    default="Ignore",
    show_default=True,
    help="Admit or deny Pods while the webhook does not answer.",
)
def install_config(
    ca_bundle_path: Path, service_name: str, namespace: str, url: str, failure_policy: FailurePolicy
) -> None:
    """Print the ValidatingWebhookConfiguration, for `kubectl apply -f -`."""
    from homeostat.cli.console.output import print_object
    from homeostat.operators.policy.admission.webhook_configuration import webhook_configuration

    try:
        authority = ca_bundle_path.read_bytes()
    except OSError as error:
        raise Failure(f"CA bundle {ca_bundle_path}: {error.strerror}") from error
    if b"-----BEGIN CERTIFICATE-----" not in authority:
        raise Failure(f"CA bundle {ca_bundle_path}: the file holds no certificate; pass the ca.crt of the webhook")
    configuration = webhook_configuration(
        authority, service=service_name, namespace=namespace, url=url, failure_policy=failure_policy
    )
    print_object(configuration, "yaml")


def _secret_of(text: str) -> tuple[str, str]:
    namespace, _, name = text.partition("/")
    if not namespace or not name or "/" in name:
        raise click.UsageError(f'--renew-secret takes NAMESPACE/NAME, not "{text}"')
    return namespace, name


async def _serve(
    endpoint: Endpoint, host: str, port: int, certificate: FileCertificate, place: tuple[str, str] | DirectoryStorage
) -> None:
    from homeostat.cli.console.stop import Stop
    from homeostat.client.connect import open_client
    from homeostat.client.discovery import fetch_kinds
    from homeostat.operators.policy.api import CLUSTER_DEVOPS_POLICY, DEVOPS_POLICY
    from homeostat.runtime.control.recorder import Recorder
    from homeostat.web.admission.webhook import serve_admission

    stop = Stop(within_s=_STOP_WITHIN_S)
    stop.listen()
    async with open_client(endpoint) as client:
        served = {each.full_name for each in await fetch_kinds(client)}
        if not {DEVOPS_POLICY.kind.full_name, CLUSTER_DEVOPS_POLICY.kind.full_name} <= served:
            hint = "to install: homeostat crds --operators policy | kubectl apply --server-side -f -"
            raise Failure(f"the server does not serve the kinds of policies; {hint}")
        recorder = Recorder(client, _SERVICE)
        try:
            async with (
                _running(recorder),
                serve_admission(
                    client,
                    host=host,
                    port=port,
                    certificate=certificate,
                    renewal=_renewal(client, certificate, place, recorder),
                ) as server,
            ):
                click.echo(f"Homeostat checks Pods of {endpoint.server} at https://{host}:{server.port}/validate")
                await stop.wait()
        except OSError as error:
            raise Failure(why_not_listening(error, f"{host}:{port}", option="--addr", purpose="listen")) from error


def _renewal(
    client: Client, certificate: FileCertificate, place: tuple[str, str] | DirectoryStorage, recorder: Recorder
) -> Renewal:
    from homeostat.web.admission.renewal import Renewal, SecretStorage, event_report

    def served() -> bytes:
        return certificate.certificate

    if isinstance(place, tuple):
        return Renewal(SecretStorage(client, *place), served, report=event_report(recorder, *place))
    return Renewal(place if place.can_renew else None, served)


@asynccontextmanager
async def _running(recorder: Recorder) -> AsyncIterator[None]:
    async with asyncio.TaskGroup() as tasks:
        writing = tasks.create_task(recorder.run())
        try:
            yield
        finally:
            writing.cancel()

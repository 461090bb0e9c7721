"""`homeostat policy webhook`: serves the admission webhook, creates its certificates, and prints its configuration."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from homeostat.cli.console.connection import reporting_errors
from homeostat.cli.console.endpoint import KUBECONFIG_HELP, chosen_endpoint, read_address, why_not_listening
from homeostat.cli.console.failure import Failure
from homeostat.cli.group import Group
from homeostat.cli.webhook.cert_generate import certificate_command
from homeostat.cli.webhook.renewal import read_secret_name, renewal_of
from homeostat.runtime.background import background

if TYPE_CHECKING:
    from homeostat.cli.webhook.storage import DirectoryStorage
    from homeostat.client.endpoint.endpoint import Endpoint
    from homeostat.operators.policy.admission.webhook_configuration import FailurePolicy
    from homeostat.web.certificates.files import FileCertificate

_STOP_WITHIN_S = 12.0
_SERVICE = "kube-devops-webhook"
_FILE = click.Path(dir_okay=False, path_type=Path)


@click.group(cls=Group, short_help="Check Pods at admission.")
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

    \b
    Examples:
      homeostat policy webhook serve --tls-cert tls/tls.crt --tls-key tls/tls.key
      homeostat policy webhook serve --addr 127.0.0.1:8443 --renew-secret ops/webhook-tls
    """
    from homeostat.cli.console.logs import set_up_logging
    from homeostat.cli.webhook.storage import DirectoryStorage
    from homeostat.edge.loop import run
    from homeostat.web.certificates.files import CertificateError, FileCertificate

    host, port = read_address(addr, option="--addr")
    place = (
        read_secret_name(renew_secret, option="--renew-secret") if renew_secret else DirectoryStorage(tls_cert, tls_key)
    )
    set_up_logging(1 + verbose)
    try:
        certificate = FileCertificate(tls_cert, tls_key)
    except CertificateError as error:
        raise Failure(f"{error}; to create one: homeostat policy webhook cert-generate") from error
    with reporting_errors():
        run(_serve(chosen_endpoint(kubeconfig, context), host, port, certificate, place))


command.add_command(certificate_command(_SERVICE, "default"))


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
    """Print the ValidatingWebhookConfiguration, for `kubectl apply -f -`.

    \b
    Examples:
      homeostat policy webhook install-config --ca-bundle-path tls/ca.crt --namespace ops | kubectl apply -f -
      homeostat policy webhook install-config --ca-bundle-path tls/ca.crt --url https://127.0.0.1:8443/validate
    """
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


async def _serve(
    endpoint: Endpoint, host: str, port: int, certificate: FileCertificate, place: tuple[str, str] | DirectoryStorage
) -> None:
    from homeostat.cli.console.stop import Stop
    from homeostat.client.connect import open_client
    from homeostat.client.discovery import fetch_kinds
    from homeostat.operators.policy.api import CLUSTER_DEVOPS_POLICY, DEVOPS_POLICY
    from homeostat.runtime.control.recorder import Recorder
    from homeostat.web.admission.webhook import serve_admission

    stop = Stop("the webhook", within_s=_STOP_WITHIN_S)
    stop.listen()
    async with open_client(endpoint) as client:
        served = {each.full_name for each in await fetch_kinds(client)}
        if not {DEVOPS_POLICY.kind.full_name, CLUSTER_DEVOPS_POLICY.kind.full_name} <= served:
            hint = "to install: homeostat crds --operators policy | kubectl apply --server-side -f -"
            raise Failure(f"the server does not serve the kinds of policies; {hint}")
        recorder = Recorder(client, _SERVICE)
        try:
            async with (
                background(recorder.run()),
                serve_admission(
                    client,
                    host=host,
                    port=port,
                    certificate=certificate,
                    renewal=renewal_of(client, certificate, place, recorder),
                ) as server,
            ):
                click.echo(f"Homeostat checks Pods of {endpoint.server} at https://{host}:{server.port}/validate")
                await stop.wait()
        except OSError as error:
            raise Failure(why_not_listening(error, f"{host}:{port}", option="--addr", purpose="listen")) from error
    stop.report_end()

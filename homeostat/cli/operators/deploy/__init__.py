"""`homeostat deploy`: prints everything a cluster needs to run operators, for `kubectl apply -f -`.

It works from what operator modules declare (KINDS, RULES, FACES, WEBHOOK, PANELS, ALERTS) and names none of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from homeostat.cli.console.failure import Failure
from homeostat.cli.console.output import documents_option, print_objects
from homeostat.cli.operators.choice import (
    check_name,
    declared_rules,
    described_operators,
    named_operators,
    operators_option,
)
from homeostat.cli.operators.deploy.manifests import Chosen, deployment_documents, faces_of, webhooks_of
from homeostat.cli.operators.deploy.site import IMAGE, Site
from homeostat.cli.operators.deploy.tls import TlsFiles, read_faces_tls, read_tls, service_name

if TYPE_CHECKING:
    from homeostat.runtime.deployment import Webhook
    from homeostat.runtime.faces.face import Face

_USUAL = Site()
_MOST_BYTES = 1 << 20


@click.command(short_help="Print the manifests that run operators in a cluster.")
@operators_option
@click.option(
    "-n", "--namespace", default=_USUAL.namespace, show_default=True, metavar="NS", help="Where the operators run."
)
@click.option("--image", default=IMAGE, show_default=True, help="Image with the homeostat command.")
@click.option(
    "--replicas", default=_USUAL.replicas, show_default=True, type=click.IntRange(1), help="Processes; one leads."
)
@click.option("--within", metavar="NS", help="Let the operators work in this namespace only.  [default: in all]")
@click.option(
    "--tls",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIR",
    help="Directory with ca.crt, tls.crt and tls.key of admission webhooks: print their Secrets and configurations.",
)
@click.option(
    "--faces-tls",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIR",
    help="Directory with tls.crt and tls.key: serve the HTTP apps of the operators (REST API, dashboard) with them; "
    "also ca.crt, for those that API servers call.",
)
@click.option(
    "--no-dashboard",
    "leaves_out_dashboard",
    is_flag=True,
    help="With --faces-tls: do not serve the dashboard, and grant no permissions for it.",
)
@click.option(
    "--monitoring",
    "is_monitored",
    is_flag=True,
    help="Print ServiceMonitors, alert rules (both for the Prometheus operator) and a Grafana dashboard too.",
)
@documents_option
def command(
    operators: str,
    namespace: str,
    image: str,
    replicas: int,
    within: str | None,
    tls: Path | None,
    faces_tls: Path | None,
    leaves_out_dashboard: bool,
    is_monitored: bool,
    output: str,
) -> None:
    """Print everything a cluster needs to run operators, in the order in which to apply it.

    That is: the definitions of their kinds, a namespace, an account, roles with the permissions that each operator
    needs, a Deployment with a budget for disruptions and a Service, and the same for the admission webhooks that
    operators declare. A file of your own is mounted from a ConfigMap; operators of other packages must be in the image.

    A namespace has one such Deployment: with other operators, a later one replaces it. Name all of them at once, or
    give each its own namespace.

    \b
    Examples:
      homeostat deploy --image registry.example.com/homeostat:1.0 | kubectl apply --server-side -f -
      homeostat deploy --operators policy,actions -n ops --replicas 3
      homeostat deploy --operators ./greeter.py --within shop
      homeostat deploy --operators policy --tls tls/ --monitoring -o json
      homeostat deploy --operators actions --faces-tls tls/
    """
    for place in (namespace, within):
        check_name("Namespace", place)
    site = Site(namespace=namespace, image=image, replicas=replicas)
    chosen = chosen_operators(operators)
    webhooks = webhooks_of(site, chosen)
    files = None if tls is None else read_tls(tls, [service_name(each, namespace) for each in webhooks])
    own_name = service_name(site.name, namespace)
    faces = None if faces_tls is None else read_faces_tls(faces_tls, own_name)
    documents = deployment_documents(
        site,
        chosen,
        within=within or "",
        tls=files,
        faces_tls=faces,
        is_monitored=is_monitored,
        has_dashboard=not leaves_out_dashboard,
    )
    print_objects(documents, output)
    declared = faces_of(chosen, has_dashboard=not leaves_out_dashboard)
    left_out = [] if files is not None else list(_webhooks_left_out(webhooks, namespace))
    for text in (*left_out, *_faces_left_out(declared, faces, faces_tls, own_name)):
        click.echo(f"left out {text}", err=True)


def _webhooks_left_out(webhooks: Mapping[str, Webhook], namespace: str) -> Iterator[str]:
    for name, webhook in webhooks.items():
        yield (
            f"the admission webhook {name}: a certificate is required; to add it: homeostat {webhook.certificate} "
            f"--service-name {name} --namespace {namespace} --output-dir tls, then homeostat deploy with --tls tls"
        )


def _faces_left_out(faces: Sequence[Face], tls: TlsFiles | None, directory: Path | None, name: str) -> Iterator[str]:
    """`name` is that of the Service of the faces."""
    if tls is None and faces:
        titles = ", ".join(each.title for each in faces)
        yield f"{titles}: a certificate is required; to add them: --faces-tls DIR"
    asked = ", ".join(each.title for each in faces if each.admission)
    if tls is not None and not tls.authority and asked:
        yield (
            f"the configuration of {asked}: the API server asks for {name}; to add it: put a certificate for that name "
            f"and its ca.crt into {directory}"
        )


def chosen_operators(operators: str) -> dict[str, Chosen]:
    """By short name, with all that is printed of them; `operators` is the value of `--operators`."""
    found: dict[str, Chosen] = {}
    described = described_operators(operators)
    for named, (name, each) in zip(named_operators(operators), described.items(), strict=True):
        module = each.load()
        found[name] = Chosen(
            named=named,
            module=module,
            faces=each.faces,
            definitions=each.definitions(),
            rules=declared_rules(name, module),
            user_rules=each.user_rules,
            reserved=each.reserved,
            source=_source(named),
        )
    return found


def _source(named: str) -> str | None:
    """The text of an operator file; None for an operator that is installed in the image."""
    if not named.endswith(".py"):
        return None
    text = Path(named).read_text()
    if len(text.encode()) > _MOST_BYTES:
        raise Failure(f"{named} is larger than a ConfigMap can be (1 MiB); make it a package of the image")
    return text

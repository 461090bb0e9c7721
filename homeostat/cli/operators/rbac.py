"""`homeostat rbac`: prints the service account and the roles of operators, for `kubectl apply -f -`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

import click

from homeostat.cli.console.output import documents_option, print_objects
from homeostat.cli.operators.choice import check_name, declared_rules, described_operators, operators_option
from homeostat.cli.operators.deploy.access import (
    access_documents,
    face_documents,
    user_documents,
    wide_resources,
    wide_resources_of_faces,
)
from homeostat.cli.operators.deploy.reserved import reserved_documents

if TYPE_CHECKING:
    from homeostat.runtime.description import Description
    from homeostat.runtime.faces.face import Face

_NAME: Final = "homeostat"


@click.command(short_help="Print the service account and roles that operators run with.")
@operators_option
@click.option(
    "-n",
    "--namespace",
    default=_NAME,
    show_default=True,
    metavar="NS",
    help="Namespace of the account.",
)
@click.option("--account", default=_NAME, show_default=True, metavar="NAME", help="Name of the service account.")
@click.option(
    "--within",
    metavar="NS",
    help="Grant permissions in this namespace only, for `homeostat run --namespace NS`.  [default: in all]",
)
@click.option(
    "--leader-elect",
    "has_election",
    is_flag=True,
    help="Grant permissions on the Leases of its namespace; outside of a Pod there, pass --lease-namespace to "
    "`homeostat run --leader-elect`.",
)
@click.option(
    "--faces",
    "--rest",
    "served",
    metavar="NS",
    help="Grant what the faces of these operators (HTTP apps: REST API, dashboard) need to serve this namespace.",
)
@click.option(
    "--no-dashboard",
    "leaves_out_dashboard",
    is_flag=True,
    help="With --faces: grant nothing for the dashboard, for `homeostat run --no-dashboard`.",
)
@documents_option
def command(
    operators: str,
    namespace: str,
    account: str,
    within: str | None,
    has_election: bool,
    served: str | None,
    leaves_out_dashboard: bool,
    output: str,
) -> None:
    """Print a namespace, a service account and, for each operator, a role with just the permissions that it needs.

    The ClusterRoles NAME-view and NAME-edit let holders of Kubernetes' roles view, edit and admin use its kinds.

    Run the operators as this account with `homeostat run`, with the same --operators and --leader-elect; outside of a
    Pod in the account's namespace NS, pass `--lease-namespace NS` too. An operator of your own declares its permissions
    in the RULES of its module.

    \b
    Examples:
      homeostat rbac --operators actions | kubectl apply --server-side -f -
      homeostat rbac --operators policy,actions --leader-elect -n ops
      homeostat rbac --operators policy --within shop        # for homeostat run --namespace shop
      homeostat rbac --operators actions --faces default     # for homeostat run --faces-port
      homeostat rbac --operators ./greeter.py -o json
    """
    for place in (namespace, within, served):
        check_name("Namespace", place)
    check_name("ServiceAccount", account)
    if within and served and within != served:
        raise click.UsageError(
            f"--faces {served}: with --within {within} the faces serve {within}; pass --faces {within}"
        )
    described = described_operators(operators)
    chosen = {name: each.load() for name, each in described.items()}
    documents = access_documents(
        {name: declared_rules(name, module) for name, module in chosen.items()},
        namespace=namespace,
        account=account,
        has_election=has_election,
        within=within or "",
        wide=wide_resources(chosen.values()) if within else frozenset(),
    )
    if served:
        wide = wide_resources_of_faces(chosen.values()) if within else None
        faces = _faces(described, has_dashboard=not leaves_out_dashboard)
        documents += face_documents(faces, served=served, namespace=namespace, account=account, wide=wide)
    documents += user_documents({name: each.user_rules for name, each in described.items()})
    reserved = {name: each.reserved for name, each in described.items()}
    documents += reserved_documents(reserved, labels={"app.kubernetes.io/name": _NAME})
    print_objects(documents, output)
    if has_election:
        only = f" --namespace {within}" if within else ""
        run = f"homeostat run --operators {operators}{only} --leader-elect --lease-namespace {namespace}"
        click.echo(f"run them as this account: {run}", err=True)


def _faces(operators: Mapping[str, Description], *, has_dashboard: bool) -> list[Face]:
    from homeostat.cli.operators.deploy.manifests import with_chosen_dashboard

    faces = [face for each in operators.values() for face in each.faces]
    if found := with_chosen_dashboard(faces, has_dashboard=has_dashboard):
        return found
    raise click.UsageError(
        f"--faces: there are none of {', '.join(operators)}; leave it out, or name other --operators"
    )

"""`homeostat policy deploy`: the manifests that run the operator in a cluster, printed for `kubectl apply`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeVar

import click

from homeostat.cli.console.output import documents_option, print_objects
from homeostat.cli.policy.deploy.monitoring import monitoring_documents
from homeostat.cli.policy.deploy.roles import access_documents, lone_access_documents
from homeostat.cli.policy.deploy.site import Site
from homeostat.cli.policy.deploy.workloads import workload_documents
from homeostat.operators.policy.api import KINDS

F = TypeVar("F", bound=Callable[..., Any])
_FORMER: Final = {
    "generate-all": "all",
    "generate-rbac": "rbac",
    "generate-deployments": "deployments",
    "generate-service-monitors": "monitoring",
    "generate-dashboard": "monitoring",
}
_USUAL: Final = Site()


class DeployGroup(click.Group):
    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        return super().get_command(ctx, _FORMER.get(cmd_name, cmd_name))


@click.group(cls=DeployGroup, short_help="Print the manifests that run the operator in a cluster.")
def command() -> None:
    """Print the manifests that run the operator and its webhook in a cluster.

    The webhook wants a Secret with its certificate: see `homeostat policy webhook cert-generate`.

    \b
    Examples:
      homeostat policy deploy all --image registry.example.com/homeostat:1.0 | kubectl apply --server-side -f -
      homeostat policy deploy rbac --read-only
      homeostat policy deploy rbac --read-only --alone -n ops      # for homeostat run --operators policy
      homeostat policy deploy monitoring | kubectl apply --server-side -f -
    """


def _site_options(function: F) -> F:
    for option in (
        documents_option,
        click.option("--read-only", is_flag=True, help="Without the right to change workloads: nothing is enforced."),
        click.option("--replicas", default=_USUAL.replicas, show_default=True, type=click.IntRange(1)),
        click.option("--image", default=_USUAL.image, show_default=True, help="Image with the homeostat command."),
        click.option("-n", "--namespace", default=_USUAL.namespace, show_default=True, metavar="NS"),
    ):
        function = option(function)
    return function


def _site(namespace: str, image: str, replicas: int, read_only: bool) -> Site:
    return Site(namespace=namespace, image=image, replicas=replicas, can_enforce=not read_only)


@command.command("all")
@click.option("--monitoring", "is_monitored", is_flag=True, help="ServiceMonitors and the dashboard too.")
@_site_options
def everything(is_monitored: bool, output: str, **options: Any) -> None:
    """Print definitions of kinds, access, Deployments, budgets and Services, in the order in which to apply them."""
    site = _site(**options)
    documents = [*(each.definition() for each in KINDS), *access_documents(site), *workload_documents(site)]
    print_objects([*documents, *(monitoring_documents(site) if is_monitored else [])], output)


@command.command()
@click.option("--alone", "is_alone", is_flag=True, help="For one operator without election, webhook and namespace.")
@_site_options
def rbac(is_alone: bool, output: str, **options: Any) -> None:
    """Print the namespace, service accounts, roles and bindings; with --alone an account, a role and its binding."""
    documents = lone_access_documents if is_alone else access_documents
    print_objects(documents(_site(**options)), output)


@command.command()
@_site_options
def deployments(output: str, **options: Any) -> None:
    """Print Deployments, PodDisruptionBudgets and Services."""
    print_objects(workload_documents(_site(**options)), output)


@command.command()
@_site_options
def monitoring(output: str, **options: Any) -> None:
    """Print ServiceMonitors of the Prometheus operator, and the Grafana dashboard in a ConfigMap."""
    print_objects(monitoring_documents(_site(**options)), output)

"""`homeostat policy deploy`: `homeostat deploy` for this operator, with the object names of the original."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeVar

import click

from homeostat.cli.console.output import documents_option, print_objects
from homeostat.cli.group import Group
from homeostat.cli.monitoring.grafana import dashboard
from homeostat.cli.operators.deploy.access import granted, webhook_access
from homeostat.cli.operators.deploy.monitoring import dashboards_document, monitor_documents
from homeostat.cli.operators.deploy.site import Site
from homeostat.cli.operators.deploy.workloads import (
    Component,
    operator_component,
    webhook_component,
    workload_documents,
)
from homeostat.objects.json import JsonObject
from homeostat.objects.roles import LEASE_RULES, binding, role
from homeostat.operators.policy.access import operator_rules
from homeostat.operators.policy.admission.webhook_configuration import SERVICE
from homeostat.operators.policy.api import KINDS
from homeostat.operators.policy.deployment import PANELS
from homeostat.operators.policy.deployment import WEBHOOK as DECLARED

F = TypeVar("F", bound=Callable[..., Any])
_NAME: Final = "kube-devops"
OPERATOR: Final = f"{_NAME}-reconcile"
WEBHOOK: Final = SERVICE
_RECONCILE: Final = "reconcile"
_FORMER: Final = {
    "generate-all": "all",
    "generate-rbac": "rbac",
    "generate-deployments": "deployments",
    "generate-service-monitors": "monitoring",
    "generate-dashboard": "monitoring",
}
DEFAULT_SITE: Final = Site(name=_NAME, namespace=_NAME)


class DeployGroup(Group):
    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        return super().get_command(ctx, _FORMER.get(cmd_name, cmd_name))


@click.group(cls=DeployGroup, short_help="Print the manifests that run the operator in a cluster.")
def command() -> None:
    """Print the manifests that run the operator and its webhook in a cluster.

    The webhook needs a Secret with its certificate: see `homeostat policy webhook cert-generate`. To deploy several
    operators together, use `homeostat deploy`.

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
        click.option("--read-only", is_flag=True, help="Leave out the permission to change workloads: no enforcement."),
        click.option(
            "--replicas",
            default=DEFAULT_SITE.replicas,
            show_default=True,
            type=click.IntRange(1),
            help="Processes; one leads.",
        ),
        click.option(
            "--image", default=DEFAULT_SITE.image, show_default=True, help="Image with the homeostat command."
        ),
        click.option(
            "-n", "--namespace", default=DEFAULT_SITE.namespace, show_default=True, metavar="NS", help="Namespace."
        ),
    ):
        function = option(function)
    return function


def _site(namespace: str, image: str, replicas: int) -> Site:
    return Site(name=_NAME, namespace=namespace, image=image, replicas=replicas)


@command.command("all")
@click.option("--monitoring", "is_monitored", is_flag=True, help="Print ServiceMonitors and the dashboard too.")
@_site_options
def everything(is_monitored: bool, output: str, read_only: bool, **options: Any) -> None:
    """Print definitions of kinds, access, Deployments, budgets and Services, in the order in which to apply them.

    \b
    Examples:
      homeostat policy deploy all | kubectl apply --server-side -f -
      homeostat policy deploy all --monitoring --replicas 2 -n ops
    """
    site = _site(**options)
    documents = [
        *(each.definition() for each in KINDS),
        *access_documents(site, can_enforce=not read_only),
        *workload_documents(site, components(site), has_budgets=site.replicas > 1),
    ]
    print_objects([*documents, *(monitoring_documents(site) if is_monitored else [])], output)


@command.command()
@click.option("--alone", "is_alone", is_flag=True, help="For one operator, without election, webhook and namespace.")
@_site_options
def rbac(is_alone: bool, output: str, read_only: bool, **options: Any) -> None:
    """Print the namespace, service accounts, roles and bindings; with --alone an account, a role and its binding.

    \b
    Examples:
      homeostat policy deploy rbac --read-only
      homeostat policy deploy rbac --alone -n ops | kubectl apply --server-side -f -
    """
    documents = lone_access_documents if is_alone else access_documents
    print_objects(documents(_site(**options), can_enforce=not read_only), output)


@command.command()
@_site_options
def deployments(output: str, read_only: bool, **options: Any) -> None:  # noqa: ARG001
    """Print Deployments, PodDisruptionBudgets and Services.

    \b
    Examples:
      homeostat policy deploy deployments --image registry.example.org/homeostat:0.1.0 --replicas 2
    """
    site = _site(**options)
    print_objects(workload_documents(site, components(site), has_budgets=site.replicas > 1), output)


@command.command()
@_site_options
def monitoring(output: str, read_only: bool, **options: Any) -> None:  # noqa: ARG001
    """Print ServiceMonitors of the Prometheus operator, and the Grafana dashboard in a ConfigMap.

    \b
    Examples:
      homeostat policy deploy monitoring -n ops | kubectl apply --server-side -f -
    """
    print_objects(monitoring_documents(_site(**options)), output)


def components(site: Site) -> list[Component]:
    return [
        operator_component(site, name=OPERATOR, label=_RECONCILE, operators="policy"),
        webhook_component(site, DECLARED, name=WEBHOOK, label="webhook"),
    ]


def access_documents(site: Site, *, can_enforce: bool = True) -> list[JsonObject]:
    """The namespace, and an account, a role and a binding each for the operator and the webhook."""
    metadata = site.metadata(site.namespace, "namespace", is_namespaced=False)
    leases = site.metadata(f"{OPERATOR}-leases", _RECONCILE)
    operator, *grants = lone_access_documents(site, can_enforce=can_enforce)
    return [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata},
        operator,
        *grants,
        role(leases, LEASE_RULES),
        binding(leases, leases["name"], operator),
        *webhook_access(site, DECLARED, WEBHOOK, "webhook"),
    ]


def lone_access_documents(site: Site, *, can_enforce: bool = True) -> list[JsonObject]:
    """For one operator without leader election and webhook, in an existing namespace: an account, a role, a binding."""
    return granted(site, OPERATOR, _RECONCILE, operator_rules(can_enforce=can_enforce))


def monitoring_documents(site: Site) -> list[JsonObject]:
    shown = dashboard(f"{_NAME}-overview", f"{_NAME} Observability", ["kubernetes", _NAME], PANELS.items())
    document = dashboards_document(site, {f"{_NAME}.json": shown}, name=f"{_NAME}-grafana-dashboard")
    return [*monitor_documents(site, components(site)), document]

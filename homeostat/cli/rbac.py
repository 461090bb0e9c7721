"""`homeostat rbac`: who operators are in a cluster and what they may do there, for `kubectl apply -f -`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import click

from homeostat.cli.failure import Failure
from homeostat.cli.operators import chosen_operators, operators_option
from homeostat.cli.output import print_objects
from homeostat.objects.json import JsonObject
from homeostat.objects.roles import LEASE_RULES as ELECTION_RULES
from homeostat.objects.roles import binding, role, service_account

_NAME: Final = "homeostat"


@click.command(short_help="Print the account and the roles that operators run with.")
@operators_option
@click.option("-n", "--namespace", default=_NAME, show_default=True, metavar="NS", help="Where the account is.")
@click.option("--account", default=_NAME, show_default=True, metavar="NAME", help="Of the service account.")
@click.option("--leader-elect", "has_election", is_flag=True, help="With the right to Leases of its namespace.")
@click.option("--rest", "served", default="", metavar="NS", help="With what the REST API for a namespace does.")
@click.option("-o", "--output", type=click.Choice(["yaml", "json"]), default="yaml", show_default=True)
def command(operators: str, namespace: str, account: str, has_election: bool, served: str, output: str) -> None:
    """Print a namespace, a service account and, for each operator, a role with what it does and not more.

    The operators are run as this account by `homeostat run`, with the same --operators and --leader-elect.

    \b
    Examples:
      homeostat rbac --operators actions | kubectl apply --server-side -f -
      homeostat rbac --operators policy,actions --leader-elect -n ops
      homeostat rbac --operators actions --rest default      # for homeostat run --rest
      homeostat rbac --operators ./greeter.py -o json
    """
    from homeostat.operators.access import rules_of
    from homeostat.operators.catalog import UnknownOperatorError

    chosen = chosen_operators(operators)
    try:
        rules = {name: rules_of(name, module) for name, module in chosen.items()}
    except UnknownOperatorError as error:
        raise Failure(str(error)) from error
    documents = access_documents(rules, namespace=namespace, account=account, has_election=has_election)
    if served:
        documents += rest_documents(served=served, namespace=namespace, account=account)
    print_objects(documents, output)


def access_documents(
    rules: Mapping[str, Sequence[JsonObject]], *, namespace: str, account: str, has_election: bool
) -> list[JsonObject]:
    """`rules` by the name of the operator. Pure."""
    who = service_account(_metadata(account, namespace=namespace))
    documents: list[JsonObject] = [{"apiVersion": "v1", "kind": "Namespace", "metadata": _metadata(namespace)}, who]
    for name, granted in rules.items():
        shared = f"{_NAME}-{name}"
        documents += [role(_metadata(shared), granted), binding(_metadata(f"{account}-{name}"), shared, who)]
    if has_election:
        leases = _metadata(f"{account}-leases", namespace=namespace)
        documents += [role(leases, ELECTION_RULES), binding(leases, leases["name"], who)]
    return documents


def rest_documents(*, served: str, namespace: str, account: str) -> list[JsonObject]:
    """For the REST API that serves a namespace, and tells who leads from the Leases beside the account. Pure."""
    from homeostat.web.access import CLUSTER_RULES, LEASE_RULES, NAMESPACE_RULES

    who, shared = service_account(_metadata(account, namespace=namespace)), f"{_NAME}-rest"
    place, leases = _metadata(shared, namespace=served), _metadata(f"{shared}-leases", namespace=namespace)
    return [
        role(_metadata(shared), CLUSTER_RULES),
        binding(_metadata(f"{account}-rest"), shared, who),
        role(place, NAMESPACE_RULES),
        binding({**place, "name": f"{account}-rest"}, shared, who),
        role(leases, LEASE_RULES),
        binding({**leases, "name": f"{account}-rest-leases"}, leases["name"], who),
    ]


def _metadata(name: str, *, namespace: str = "") -> JsonObject:
    place = {"namespace": namespace} if namespace else {}
    return {"name": name, **place, "labels": {"app.kubernetes.io/name": _NAME}}

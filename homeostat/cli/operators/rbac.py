"""`homeostat rbac`: who operators are in a cluster and what they may do there, for `kubectl apply -f -`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final

import click

from homeostat.cli.console.failure import Failure
from homeostat.cli.console.output import documents_option, print_objects
from homeostat.cli.operators.choice import chosen_operators, operators_option
from homeostat.objects.json import JsonObject
from homeostat.objects.names import name_rule
from homeostat.objects.roles import LEASE_RULES as ELECTION_RULES
from homeostat.objects.roles import binding, role, service_account, split_rules

if TYPE_CHECKING:
    from homeostat.runtime.setup import OperatorModule

Resources = frozenset[tuple[str, str]]
"""Each with its group."""

_NAME: Final = "homeostat"


@click.command(short_help="Print the account and the roles that operators run with.")
@operators_option
@click.option(
    "-n",
    "--namespace",
    default=_NAME,
    show_default=True,
    metavar="NS",
    help="Where the account is.",
)
@click.option("--account", default=_NAME, show_default=True, metavar="NAME", help="Of the service account.")
@click.option(
    "--within",
    metavar="NS",
    help="Rights in this namespace only, as `homeostat run --namespace NS` needs them.  [default: in all]",
)
@click.option(
    "--leader-elect",
    "has_election",
    is_flag=True,
    help="With the right to Leases of its namespace; outside of a Pod there `homeostat run --leader-elect` takes "
    "--lease-namespace.",
)
@click.option("--rest", "served", metavar="NS", help="With what the REST API for a namespace does.")
@documents_option
def command(
    operators: str,
    namespace: str,
    account: str,
    within: str | None,
    has_election: bool,
    served: str | None,
    output: str,
) -> None:
    """Print a namespace, a service account and, for each operator, a role with what it does and not more.

    The operators are run as this account by `homeostat run`, with the same --operators and --leader-elect, and with
    `--lease-namespace NS` where that is not in a Pod of the account's namespace NS. An operator of your own says what
    it does in the RULES of its module.

    \b
    Examples:
      homeostat rbac --operators actions | kubectl apply --server-side -f -
      homeostat rbac --operators policy,actions --leader-elect -n ops
      homeostat rbac --operators policy --within shop        # for homeostat run --namespace shop
      homeostat rbac --operators actions --rest default      # for homeostat run --rest
      homeostat rbac --operators ./greeter.py -o json
    """
    from homeostat.operators.access import rules_of
    from homeostat.operators.catalog import UnknownOperatorError

    for place in (namespace, within, served):
        _check_name("Namespace", place)
    _check_name("ServiceAccount", account)
    chosen = chosen_operators(operators)
    try:
        rules = {name: rules_of(name, module) for name, module in chosen.items()}
    except UnknownOperatorError as error:
        raise Failure(str(error)) from error
    documents = access_documents(
        rules,
        namespace=namespace,
        account=account,
        has_election=has_election,
        within=within or "",
        wide=wide_resources(chosen.values()) if within else frozenset(),
    )
    if served:
        documents += rest_documents(served=served, namespace=namespace, account=account)
    print_objects(documents, output)
    if has_election:
        only = f" --namespace {within}" if within else ""
        told = f"homeostat run --operators {operators}{only} --leader-elect --lease-namespace {namespace}"
        click.echo(f"to run them as this account: {told}", err=True)


def _check_name(kind: str, name: str | None) -> None:
    """One that is empty is a variable that was not set, and no wish for another scope."""
    if name is not None and (messages := name_rule("", kind).messages(name)):
        raise click.UsageError(f'"{name}" cannot be the name of a {kind}: {messages[0]}')


def access_documents(
    rules: Mapping[str, Sequence[JsonObject]],
    *,
    namespace: str,
    account: str,
    has_election: bool,
    within: str = "",
    wide: Resources = frozenset(),
) -> list[JsonObject]:
    """`rules` by the name of the operator, and for the namespace `within` alone as far as they are not about what is
    `wide`. Pure.
    """
    who = service_account(_metadata(account, namespace=namespace))
    documents: list[JsonObject] = [{"apiVersion": "v1", "kind": "Namespace", "metadata": _metadata(namespace)}, who]
    for name, granted in rules.items():
        parts = _narrowed(name, granted, within, wide) if within else [(_metadata(f"{_NAME}-{name}"), granted)]
        for shared, part in parts:
            bound = {**shared, "name": f"{_bound(namespace, account)}:{name}"}
            documents += [role(shared, part), binding(bound, shared["name"], who)]
    if has_election:
        leases = _metadata(f"{account}-leases", namespace=namespace)
        documents += [role(leases, ELECTION_RULES), binding(leases, leases["name"], who)]
    return documents


def _narrowed(
    name: str, rules: Sequence[JsonObject], within: str, wide: Resources
) -> Iterator[tuple[JsonObject, list[JsonObject]]]:
    """Metadata of roles, and what they grant. The role of the cluster is another than that of who looks everywhere."""
    far, near = split_rules(rules, wide)
    if far:
        yield _metadata(f"{_NAME}-{name}-within"), far
    if near:
        yield _metadata(f"{_NAME}-{name}", namespace=within), near


def wide_resources(operators: Iterable[OperatorModule]) -> Resources:
    """Those that are in no namespace: of the operators' own kinds, and of the built-in ones."""
    from homeostat.server.kinds.custom import builtin_behaviours
    from homeostat.server.kinds.registry import Registry, builtin_kinds

    served = builtin_kinds(builtin_behaviours(Registry()))
    builtin = {(each.group, each.plural) for each in served if not each.namespaced}
    kinds = [each.kind for module in operators for each in module.KINDS]
    own = {(each.group, each.plural) for each in kinds if not each.is_namespaced}
    # Events about what is in no namespace are in "default".
    return frozenset({*builtin, *own, *([("", "events")] if own else [])})


def rest_documents(*, served: str, namespace: str, account: str) -> list[JsonObject]:
    """For the REST API that serves a namespace, and tells who leads from the Leases beside the account. Pure."""
    from homeostat.operators.catalog import OURS, find_operator
    from homeostat.runtime.faces.face import rules_of_face

    rules = [rules_of_face(face) for name in OURS for face in find_operator(name).faces]
    who, shared = service_account(_metadata(account, namespace=namespace)), f"{_NAME}-rest"
    place, leases = _metadata(shared, namespace=served), _metadata(f"{shared}-leases", namespace=namespace)
    bound = f"{_bound(namespace, account)}:rest"
    return [
        role(_metadata(shared), [rule for each in rules for rule in each.cluster]),
        binding(_metadata(bound), shared, who),
        role(place, [rule for each in rules for rule in each.namespace]),
        binding({**place, "name": bound}, shared, who),
        role(leases, [rule for each in rules for rule in each.leases]),
        binding({**leases, "name": f"{account}-rest-leases"}, leases["name"], who),
    ]


def _bound(namespace: str, account: str) -> str:
    """Who is bound, as no other account is called: neither part has a colon."""
    return f"{namespace}:{account}"


def _metadata(name: str, *, namespace: str = "") -> JsonObject:
    place = {"namespace": namespace} if namespace else {}
    return {"name": name, **place, "labels": {"app.kubernetes.io/name": _NAME}}

"""Who operators are in a cluster, and what they may do there and not more: accounts, roles and bindings. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from homeostat.cli.operators.deploy.site import Site
from homeostat.objects.json import JsonObject
from homeostat.objects.roles import LEASE_RULES as ELECTION_RULES
from homeostat.objects.roles import binding, role, service_account, split_rules
from homeostat.runtime.faces.face import Face, rules_of_face

if TYPE_CHECKING:
    from homeostat.runtime.setup import OperatorModule

Resources = frozenset[tuple[str, str]]
"""Each with its group."""

_NAME: Final = "homeostat"


def granted(site: Site, name: str, label: str, rules: Sequence[JsonObject]) -> list[JsonObject]:
    """An account of a component, a role of the cluster and what binds them, all of one name."""
    account, metadata = service_account(site.metadata(name, label)), site.metadata(name, label, is_namespaced=False)
    return [account, role(metadata, rules), binding(metadata, name, account)]


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


def face_documents(
    faces: Iterable[Face], *, served: str, namespace: str, account: str, name: str = "rest"
) -> list[JsonObject]:
    """For faces that serve a namespace, and read who leads from the Leases beside the account. Pure."""
    rules = [rules_of_face(each) for each in faces]
    who, shared = service_account(_metadata(account, namespace=namespace)), f"{_NAME}-{name}"
    place, leases = _metadata(shared, namespace=served), _metadata(f"{shared}-leases", namespace=namespace)
    bound = f"{_bound(namespace, account)}:{name}"
    return [
        role(_metadata(shared), [rule for each in rules for rule in each.cluster]),
        binding(_metadata(bound), shared, who),
        role(place, [rule for each in rules for rule in each.namespace]),
        binding({**place, "name": bound}, shared, who),
        role(leases, [rule for each in rules for rule in each.leases]),
        binding({**leases, "name": f"{account}-{name}-leases"}, leases["name"], who),
    ]


def _bound(namespace: str, account: str) -> str:
    """Who is bound, as no other account is called: neither part has a colon."""
    return f"{namespace}:{account}"


def _metadata(name: str, *, namespace: str = "") -> JsonObject:
    place = {"namespace": namespace} if namespace else {}
    return {"name": name, **place, "labels": {"app.kubernetes.io/name": _NAME}}

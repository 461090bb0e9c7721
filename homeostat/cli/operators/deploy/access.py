"""Service accounts, roles and bindings of operators, with no more permissions than they need. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from homeostat.cli.operators.deploy.site import Site
from homeostat.cli.operators.deploy.workloads import tls_secret
from homeostat.objects.crd.user_roles import UserRules, user_roles
from homeostat.objects.json import JsonObject
from homeostat.objects.roles import LEASE_RULES as ELECTION_RULES
from homeostat.objects.roles import binding, role, rule, service_account, split_rules
from homeostat.operators.dashboard import DASHBOARD, serves_dashboard
from homeostat.runtime.faces.face import Face, rules_of_face

if TYPE_CHECKING:
    from homeostat.runtime.deployment import Webhook
    from homeostat.runtime.setup import OperatorModule

Resources = frozenset[tuple[str, str]]
"""Pairs of group and resource."""

_NAME: Final = "homeostat"


def granted(site: Site, name: str, label: str, rules: Sequence[JsonObject]) -> list[JsonObject]:
    """A ServiceAccount, a ClusterRole and a ClusterRoleBinding of the same name, for one component."""
    account, metadata = service_account(site.metadata(name, label)), site.metadata(name, label, is_namespaced=False)
    return [account, role(metadata, rules), binding(metadata, name, account)]


def webhook_access(site: Site, webhook: Webhook, name: str, label: str) -> list[JsonObject]:
    """The access of a webhook: its rules and, if it renews its certificate, its own Secret and Events about it."""
    account, *bound = granted(site, name, label, webhook.rules)
    renewing = renewal_access(site, name, label, account=account) if webhook.renewal_option else []
    return [account, *bound, *renewing]


def renewal_access(site: Site, name: str, label: str, *, account: JsonObject | None = None) -> list[JsonObject]:
    """The permission to renew the certificate in its Secret, and to report it by Events; for the operators' account, if
    none is given.
    """
    metadata = site.metadata(f"{name}-certificate", label)
    own = {**rule("", ["secrets"], ["get", "patch"]), "resourceNames": [tls_secret(name)]}
    rules = [own, rule("", ["events"], ["create", "patch"])]
    who = account or service_account(site.metadata(site.name, label))
    return [role(metadata, rules), binding(metadata, metadata["name"], who)]


def access_documents(
    rules: Mapping[str, Sequence[JsonObject]],
    *,
    namespace: str,
    account: str,
    has_election: bool,
    within: str = "",
    wide: Resources = frozenset(),
) -> list[JsonObject]:
    """Roles from `rules` by name of operator. With `within` the permissions hold in that namespace only, except for
    cluster-scoped resources (`wide`).
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


def user_documents(rules: Mapping[str, UserRules]) -> list[JsonObject]:
    """ClusterRoles, by name of operator, that let holders of `view`, `edit` and `admin` work with the kinds."""
    return [document for name, each in rules.items() for document in user_roles(f"{_NAME}-{name}", each)]


def _narrowed(
    name: str, rules: Sequence[JsonObject], within: str, wide: Resources
) -> Iterator[tuple[JsonObject, list[JsonObject]]]:
    """Metadata of roles and their rules. The ClusterRole has a name of its own beside that for all namespaces."""
    far, near = split_rules(rules, wide)
    if far:
        yield _metadata(f"{_NAME}-{name}-within"), far
    if near:
        yield _metadata(f"{_NAME}-{name}", namespace=within), near


def wide_resources(operators: Iterable[OperatorModule]) -> Resources:
    """Cluster-scoped resources: those of the operators' kinds and the built-in ones."""
    from homeostat.server.kinds.custom.definition import builtin_behaviours
    from homeostat.server.kinds.registry import Registry, builtin_kinds

    served = builtin_kinds(builtin_behaviours(Registry()))
    builtin = {(each.group, each.plural) for each in served if not each.namespaced}
    kinds = [each.kind for module in operators for each in module.KINDS]
    own = {(each.group, each.plural) for each in kinds if not each.is_namespaced}
    # Events about cluster-scoped objects are in the namespace "default".
    return frozenset({*builtin, *own, *([("", "events")] if own else [])})


def wide_resources_of_faces(operators: Iterable[OperatorModule]) -> Resources:
    """The dashboard shows the kinds of all our operators, and of one namespace the Events of that namespace alone."""
    from homeostat.operators.catalog import OURS, load_operator

    ours = [load_operator(each) for each in OURS]
    return wide_resources([*operators, *ours]) - {("", "events")}


def face_documents(
    faces: Iterable[Face],
    *,
    served: str,
    namespace: str,
    account: str,
    name: str = "rest",
    wide: Resources | None = None,
) -> list[JsonObject]:
    """Roles of faces that serve a namespace and read the leader from the Leases in the account's namespace. With `wide`
    (cluster-scoped resources) all other permissions hold in the served namespace only.
    """
    served_faces = list(faces)
    # Where the REST API serves the dashboard, the dashboard is no face of its own.
    if any(map(serves_dashboard, served_faces)) and DASHBOARD not in served_faces:
        served_faces.append(DASHBOARD)
    rules = [rules_of_face(each) for each in served_faces]
    far = _distinct(rule for each in rules for rule in each.cluster)
    near = _distinct(rule for each in rules for rule in each.namespace)
    who, shared = service_account(_metadata(account, namespace=namespace)), f"{_NAME}-{name}"
    everywhere = _metadata(shared)
    if wide is not None:
        far, more = split_rules(far, wide)
        near, everywhere = [*more, *near], _metadata(f"{shared}-within")
    place, leases = _metadata(shared, namespace=served), _metadata(f"{shared}-leases", namespace=namespace)
    bound = f"{_bound(namespace, account)}:{name}"
    own = _distinct(rule for each in rules for rule in each.leases)
    parts = [(everywhere, bound, far), (place, bound, near), (leases, f"{account}-{name}-leases", own)]
    return [
        document
        for metadata, binding_name, part in parts
        for document in (role(metadata, part), binding({**metadata, "name": binding_name}, metadata["name"], who))
        if part
    ]


def _distinct(rules: Iterable[JsonObject]) -> list[JsonObject]:
    found: list[JsonObject] = []
    for each in rules:
        if each not in found:
            found.append(each)
    return found


def _bound(namespace: str, account: str) -> str:
    """Unique for each account: neither part contains a colon."""
    return f"{namespace}:{account}"


def _metadata(name: str, *, namespace: str = "") -> JsonObject:
    place = {"namespace": namespace} if namespace else {}
    return {"name": name, **place, "labels": {"app.kubernetes.io/name": _NAME}}

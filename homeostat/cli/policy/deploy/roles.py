"""Who the operator and its webhook are in a cluster, and what binds them to what they may do. Pure."""

from __future__ import annotations

from homeostat.cli.policy.deploy.site import OPERATOR, WEBHOOK, Site, metadata_of
from homeostat.objects.json import JsonObject
from homeostat.objects.roles import LEASE_RULES, binding, role, service_account
from homeostat.operators.policy.access import operator_rules, webhook_rules


def access_documents(site: Site) -> list[JsonObject]:
    """The namespace, and for the operator and the webhook an account, a role and what binds them."""
    space: JsonObject = {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata_of(site.namespace, "namespace")}
    leases = metadata_of(f"{OPERATOR}-leases", "operator", site.namespace)
    operator, *grants = lone_access_documents(site)
    return [
        space,
        operator,
        *grants,
        role(leases, LEASE_RULES),
        binding(leases, leases["name"], operator),
        *_granted(site, WEBHOOK, "webhook", webhook_rules()),
    ]


def lone_access_documents(site: Site) -> list[JsonObject]:
    """For one operator without election and webhook, in a namespace that is there: an account, a role, a binding."""
    return _granted(site, OPERATOR, "operator", operator_rules(can_enforce=site.can_enforce))


def _granted(site: Site, name: str, component: str, rules: list[JsonObject]) -> list[JsonObject]:
    account, metadata = service_account(metadata_of(name, component, site.namespace)), metadata_of(name, component)
    return [account, role(metadata, rules), binding(metadata, name, account)]

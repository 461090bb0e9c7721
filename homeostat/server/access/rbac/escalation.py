"""Prevents privilege escalation: users may grant only permissions that they have.

Writing a role requires every permission in it, or the verb `escalate` on the role. Writing a binding requires every
permission of its role, or the verb `bind` on that role. An aggregated role can collect any rules, so writing one needs
all permissions. `check_grant` is called with the role or binding as it would be stored.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from homeostat.objects.access.rule import FULL_AUTHORITY, Rule, describe, quoted_list, rule_of
from homeostat.objects.errors import ForbiddenError, NotFoundError, quoted
from homeostat.objects.json import JsonObject
from homeostat.server.access.attributes import Attributes
from homeostat.server.access.authz import Authorizer, forbidden
from homeostat.server.access.rbac.aggregation import selectors_of
from homeostat.server.access.rbac.authorizer import GROUP, RoleRef, role_ref
from homeostat.server.access.rbac.permissions import missing
from homeostat.server.access.user import User
from homeostat.server.request.offload import is_heavy

_PLURALS = {
    "Role": "roles",
    "ClusterRole": "clusterroles",
    "RoleBinding": "rolebindings",
    "ClusterRoleBinding": "clusterrolebindings",
}
_QUICK_RULES: Final = 100
_COLLECTOR_FIELDS = ("ownerReferences", "finalizers", "managedFields", "resourceVersion", "generation")


class _Write(NamedTuple):
    """The user and the role or binding being written."""

    authorizer: Authorizer
    user: User
    kind: str
    namespace: str
    name: str

    def may(self, verb: str, ref: RoleRef) -> bool:
        plural = _PLURALS.get(ref.kind, "")
        attributes = Attributes(self.user, verb, group=GROUP, resource=plural, namespace=self.namespace, name=ref.name)
        return bool(plural) and self.authorizer.authorize(attributes).is_allowed

    def lacks(self, rules: Sequence[Rule]) -> list[Rule]:
        return missing(self.authorizer.rbac.rules_for(self.user, self.namespace), rules)

    def refusal(self, why: str) -> ForbiddenError:
        return forbidden(why, resource=_PLURALS[self.kind], group=GROUP, name=self.name)


def check_grant(
    authorizer: Authorizer, user: User, *, kind: str, namespace: str, obj: JsonObject, old: JsonObject | None
) -> None:
    """Raise `ForbiddenError` if the write of a role or binding grants more than the user has.

    `NotFoundError` if a binding names a missing role and the user lacks the verb `bind` on it.
    """
    if user.is_master or (old is not None and _frees_only(obj, old)):
        return
    write = _Write(authorizer, user, kind, namespace, (obj.get("metadata") or {}).get("name", ""))
    if kind in {"RoleBinding", "ClusterRoleBinding"}:
        _check_binding(write, role_ref(obj))
    else:
        _check_role(write, obj, old or {})


def takes_long(authorizer: Authorizer, user: User, *, namespace: str, obj: JsonObject) -> bool:
    """Whether `check_grant` would hold up the event loop: either side may have very many rules."""
    if user.is_master:
        return False
    rbac, rules = authorizer.rbac, obj.get("rules") or ()
    is_large = rbac.is_large(user, namespace) or rbac.is_large_role(role_ref(obj), namespace)
    return is_large or len(rules) > _QUICK_RULES or is_heavy(rules)


def _check_role(write: _Write, obj: JsonObject, old: JsonObject) -> None:
    if write.may("escalate", RoleRef(write.kind, write.name)):
        return
    _check_rules(write, [rule_of(rule) for rule in obj.get("rules") or ()])
    if (selectors_of(obj) or selectors_of(old)) and write.lacks(FULL_AUTHORITY):
        raise write.refusal("must have cluster-admin privileges to use the aggregationRule")


def _check_binding(write: _Write, ref: RoleRef) -> None:
    if write.may("bind", ref):
        return
    rules = write.authorizer.rbac.rules_of(ref, write.namespace)
    if rules is None:
        plural = _PLURALS.get(ref.kind, ref.kind.lower())
        raise NotFoundError(f"{plural}.{GROUP} {quoted(ref.name)} not found", kind=plural, group=GROUP, name=ref.name)
    _check_rules(write, rules)


def _check_rules(write: _Write, rules: Sequence[Rule]) -> None:
    lacking = write.lacks(rules)
    if lacking:
        listed = "\n".join(sorted({describe(rule) for rule in lacking}))
        raise write.refusal(
            f"user {quoted(write.user.name)} (groups={quoted_list(write.user.groups)}) "
            f"is attempting to grant RBAC permissions not currently held:\n{listed}"
        )


def _frees_only(obj: JsonObject, old: JsonObject) -> bool:
    """Whether the write changes only owner references and finalizers, as garbage collection does."""
    return _without_collector_fields(obj) == _without_collector_fields(old)


def _without_collector_fields(obj: JsonObject) -> JsonObject:
    metadata = {key: value for key, value in (obj.get("metadata") or {}).items() if key not in _COLLECTOR_FIELDS}
    return {**obj, "metadata": metadata}

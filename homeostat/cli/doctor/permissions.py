"""Checks whether the credentials of a command have the permissions of a role, by access reviews."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Final, NamedTuple

from homeostat.client.base import Client
from homeostat.edge.turn import map_concurrently
from homeostat.objects.errors import ApiError
from homeostat.objects.json import JsonObject
from homeostat.runtime.checkup import Finding

_REVIEWS: Final = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
_MOST_NAMES: Final = 5
_AT_ONCE: Final = 8


class Permission(NamedTuple):
    group: str
    resource: str
    verb: str
    namespace: str = ""
    name: str = ""
    """Of the one object that it is for; empty for all."""

    def __str__(self) -> str:
        full = f"{self.resource}.{self.group}" if self.group else self.resource
        named = f'{full} "{self.name}"' if self.name else full
        return f"{self.verb} {named}{f' in namespace {self.namespace}' if self.namespace else ''}"


def permissions_of(rules: Sequence[JsonObject], served: Collection[str], *, namespace: str = "") -> list[Permission]:
    """Those of the rules. Of a rule with several groups each resource is in one of them; `served` has the full names
    of the kinds that the server has.
    """
    found = [
        Permission(group, resource, verb, namespace, name)
        for each in rules
        for resource in each.get("resources") or ()
        for group in _groups(each["apiGroups"], resource, served)
        for verb in each["verbs"]
        for name in each.get("resourceNames") or ("",)
    ]
    return list(dict.fromkeys(found))


def _groups(groups: Sequence[str], resource: str, served: Collection[str]) -> Sequence[str]:
    plural = resource.partition("/")[0]
    known = [group for group in groups if (f"{plural}.{group}" if group else plural) in served]
    return known or groups[:1]


async def check_permissions(client: Client, check: str, permissions: Sequence[Permission], *, remedy: str) -> Finding:
    async def is_allowed(permission: Permission) -> bool:
        resource, _, subresource = permission.resource.partition("/")
        attributes = {
            "group": permission.group,
            "resource": resource,
            "subresource": subresource,
            "verb": permission.verb,
            "namespace": permission.namespace,
            "name": permission.name,
        }
        answer = await client.create(_REVIEWS, {"spec": {"resourceAttributes": attributes}})
        return bool(answer["status"]["allowed"])

    try:
        answers = await map_concurrently(is_allowed, permissions, at_once=_AT_ONCE)
    except ApiError as error:
        return Finding(check, "FAIL", f"cannot check: {error.message}")
    missing = [str(each) for each, is_granted in zip(permissions, answers, strict=True) if not is_granted]
    if not missing:
        return Finding(check, "OK", f"{len(permissions)} permissions")
    more = f" and {len(missing) - _MOST_NAMES} more" if len(missing) > _MOST_NAMES else ""
    return Finding(check, "FAIL", f"not allowed to {', '.join(missing[:_MOST_NAMES])}{more}", remedy)

"""User impersonation by the `Impersonate-*` headers of a call.

`impersonation` returns the user to impersonate and the permissions that the real user needs: one check for the user,
one for each group, for the UID and for each extra value. The caller does the checks.
"""

from __future__ import annotations

from typing import NamedTuple
from urllib.parse import unquote

from homeostat.edge.request import Headers
from homeostat.objects.errors import BadRequestError
from homeostat.server.access.attributes import Attributes
from homeostat.server.access.user import (
    ANONYMOUS,
    AUTHENTICATED,
    UNAUTHENTICATED,
    User,
    service_account_groups,
    split_service_account,
)

_GROUP = "authentication.k8s.io"
_PREFIX = "impersonate-"
_EXTRA_PREFIX = "impersonate-extra-"


class Impersonation(NamedTuple):
    user: User
    checks: tuple[Attributes, ...]


def impersonation(headers: Headers, real: User) -> Impersonation | None:
    """None for a call without impersonation; `BadRequestError` for incomplete headers."""
    # Hardly any call has these headers: one search for the prefix is faster than a look-up of each name.
    if _PREFIX not in ",".join(headers):
        return None
    asked = [name for name in headers if name.startswith(_PREFIX)]
    name, uid = headers.get("impersonate-user", ""), headers.get("impersonate-uid", "")
    groups = tuple(headers.get_all("impersonate-group"))
    extra = _extra(headers, asked)
    if not name:
        if uid or groups or extra:
            raise BadRequestError("uid, groups and extra cannot be impersonated without a user: set Impersonate-User")
        return None
    checks = [_user_check(real, name)]
    checks += [Attributes(real, "impersonate", version="v1", resource="groups", name=group) for group in groups]
    checks += [
        Attributes(real, "impersonate", group=_GROUP, version="v1", resource="userextras", subresource=key, name=value)
        for key, values in extra.items()
        for value in values
    ]
    if uid:
        checks.append(Attributes(real, "impersonate", group=_GROUP, version="v1", resource="uids", name=uid))
    return Impersonation(User(name, uid=uid, groups=_groups(name, groups), extra=extra), tuple(checks))


def _user_check(real: User, name: str) -> Attributes:
    account = split_service_account(name)
    if account is None:
        return Attributes(real, "impersonate", version="v1", resource="users", name=name)
    namespace, account_name = account
    return Attributes(
        real, "impersonate", version="v1", resource="serviceaccounts", namespace=namespace, name=account_name
    )


def _groups(name: str, asked: tuple[str, ...]) -> tuple[str, ...]:
    """The requested groups, or else those of the user name; always with system:authenticated or its opposite."""
    account = split_service_account(name)
    groups = asked or (service_account_groups(account[0]) if account else ())
    if AUTHENTICATED in groups or UNAUTHENTICATED in groups:
        return groups
    return (*groups, UNAUTHENTICATED if name == ANONYMOUS else AUTHENTICATED)


def _extra(headers: Headers, asked: list[str]) -> dict[str, tuple[str, ...]]:
    return {
        unquote(name[len(_EXTRA_PREFIX) :]).lower(): tuple(headers.get_all(name))
        for name in sorted(asked)
        if name.startswith(_EXTRA_PREFIX)
    }

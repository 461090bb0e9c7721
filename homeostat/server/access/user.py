"""The user of a call: a name and groups, without credentials.

Names and groups that begin with `system:` have the meaning of Kubernetes, so roles and bindings written for a cluster
mean the same here.
"""

from __future__ import annotations

from typing import Final

import msgspec

from homeostat.objects.json import JsonObject

ANONYMOUS: Final = "system:anonymous"
MASTERS: Final = "system:masters"
AUTHENTICATED: Final = "system:authenticated"
UNAUTHENTICATED: Final = "system:unauthenticated"
SERVICE_ACCOUNTS: Final = "system:serviceaccounts"
CREDENTIAL_ID: Final = "authentication.kubernetes.io/credential-id"

_SERVICE_ACCOUNT_PREFIX = "system:serviceaccount:"


class User(msgspec.Struct, frozen=True):
    name: str
    uid: str = ""
    groups: tuple[str, ...] = ()
    extra: dict[str, tuple[str, ...]] = {}

    @property
    def is_master(self) -> bool:
        """Whether the user may do everything."""
        return MASTERS in self.groups


NOBODY: Final = User(ANONYMOUS, groups=(UNAUTHENTICATED,))
SELF: Final = User("system:apiserver", groups=(MASTERS, AUTHENTICATED))
"""The user of the plane's own calls."""
OPEN: Final = User("admin", groups=(MASTERS, AUTHENTICATED))
"""The user of every call to a plane that requires no credentials."""


def user_info(user: User) -> JsonObject:
    """The user as a `UserInfo`, for reviews and webhooks."""
    info: JsonObject = {"username": user.name}
    if user.uid:
        info["uid"] = user.uid
    if user.groups:
        info["groups"] = list(user.groups)
    if user.extra:
        info["extra"] = {key: list(values) for key, values in user.extra.items()}
    return info


def service_account_name(namespace: str, name: str) -> str:
    return f"{_SERVICE_ACCOUNT_PREFIX}{namespace}:{name}"


def service_account_groups(namespace: str) -> tuple[str, ...]:
    return (SERVICE_ACCOUNTS, f"{SERVICE_ACCOUNTS}:{namespace}", AUTHENTICATED)


def split_service_account(username: str) -> tuple[str, str] | None:
    """Namespace and name of a service account's user name; None for any other user."""
    if not username.startswith(_SERVICE_ACCOUNT_PREFIX):
        return None
    namespace, _, name = username[len(_SERVICE_ACCOUNT_PREFIX) :].partition(":")
    return (namespace, name) if namespace and name and ":" not in name else None

from __future__ import annotations

import pytest

from homeostat.edge.request import Headers
from homeostat.objects.errors import BadRequestError
from homeostat.server.access.impersonation import impersonation
from homeostat.server.access.user import AUTHENTICATED, User
from tests.server.access.rbac.objects import user

ROOT = user("root")


def headers(*lines: tuple[str, str]) -> Headers:
    made = Headers()
    for name, value in lines:
        made.add(name, value)
    return made


def acting_as(*lines: tuple[str, str]) -> User:
    found = impersonation(headers(*lines), ROOT)
    assert found is not None
    return found.user


def checks(*lines: tuple[str, str]) -> list[str]:
    """Each check as `group resource/subresource namespace name`."""
    found = impersonation(headers(*lines), ROOT)
    assert found is not None
    for check in found.checks:
        assert (check.user, check.verb) == (ROOT, "impersonate")
    return [f"{each.group} {each.resource}/{each.subresource} {each.namespace} {each.name}" for each in found.checks]


def test_without_the_headers_a_call_is_the_callers_own() -> None:
    assert impersonation(headers(("accept", "*/*")), ROOT) is None


def test_a_user_is_asked_about_and_becomes_the_caller() -> None:
    assert acting_as(("impersonate-user", "alice")) == User("alice", groups=(AUTHENTICATED,))
    assert checks(("impersonate-user", "alice")) == [" users/  alice"]


def test_a_service_account_has_the_groups_of_its_namespace() -> None:
    line = ("impersonate-user", "system:serviceaccount:ci:bot")
    assert acting_as(line).groups == ("system:serviceaccounts", "system:serviceaccounts:ci", AUTHENTICATED)
    assert checks(line) == [" serviceaccounts/ ci bot"]


def test_groups_uid_and_extra_are_asked_about_one_by_one() -> None:
    lines = (
        ("impersonate-user", "alice"),
        ("impersonate-group", "devs"),
        ("impersonate-group", "ops, eu"),
        ("impersonate-uid", "7"),
        ("impersonate-extra-example.com%2fScopes", "read"),
        ("impersonate-extra-example.com%2fScopes", "write"),
    )
    assert acting_as(*lines) == User(
        "alice",
        uid="7",
        groups=("devs", "ops, eu", AUTHENTICATED),
        extra={"example.com/scopes": ("read", "write")},
    )
    assert checks(*lines) == [
        " users/  alice",
        " groups/  devs",
        " groups/  ops, eu",
        "authentication.k8s.io userextras/example.com/scopes  read",
        "authentication.k8s.io userextras/example.com/scopes  write",
        "authentication.k8s.io uids/  7",
    ]


def test_the_anonymous_user_is_not_made_an_authenticated_one() -> None:
    assert acting_as(("impersonate-user", "system:anonymous")).groups == ("system:unauthenticated",)


def test_groups_that_say_it_themselves_are_left_as_they_are() -> None:
    lines = ("impersonate-user", "alice"), ("impersonate-group", "system:unauthenticated")
    assert acting_as(*lines).groups == ("system:unauthenticated",)


@pytest.mark.parametrize("name", ["impersonate-group", "impersonate-uid", "impersonate-extra-a"])
def test_nothing_but_a_user_can_be_impersonated_alone(name: str) -> None:
    with pytest.raises(BadRequestError, match="Impersonate-User"):
        impersonation(headers((name, "x")), ROOT)

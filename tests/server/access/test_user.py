from __future__ import annotations

import pytest

from homeostat.server.access.user import NOBODY, SELF, User, service_account_name, split_service_account, user_info


def test_user_info_leaves_out_what_is_empty() -> None:
    assert user_info(User("a")) == {"username": "a"}
    full = User("a", uid="1", groups=("g",), extra={"k": ("v", "w")})
    assert user_info(full) == {"username": "a", "uid": "1", "groups": ["g"], "extra": {"k": ["v", "w"]}}


def test_only_members_of_masters_are_masters() -> None:
    assert SELF.is_master
    assert not NOBODY.is_master
    assert not User("system:masters").is_master


ACCOUNTS = {
    "an account": (service_account_name("ns", "bot"), ("ns", "bot")),
    "a person": ("alice", None),
    "no name": ("system:serviceaccount:ns:", None),
    "no namespace": ("system:serviceaccount::bot", None),
    "too much": ("system:serviceaccount:a:b:c", None),
}


@pytest.mark.parametrize(("name", "expected"), ACCOUNTS.values(), ids=ACCOUNTS)
def test_a_user_name_identifies_its_service_account(name: str, expected: tuple[str, str] | None) -> None:
    assert split_service_account(name) == expected

"""Questions about access are asked with the groups that the user is in."""

from __future__ import annotations

from homeostat.web.dashboard.access.review import ReviewQuery


def test_a_service_account_is_in_the_groups_of_service_accounts() -> None:
    own = ["system:serviceaccounts", "system:serviceaccounts:ops", "system:authenticated"]
    assert ReviewQuery(user="system:serviceaccount:ops:robot").all_groups == own
    assert ReviewQuery(user="system:serviceaccount:ops:robot", groups="dev, ops").all_groups == ["dev", "ops", *own]
    for user in ("anna", "system:serviceaccount:ops", "system:serviceaccount:a:b:c", ""):
        assert ReviewQuery(user=user, groups="dev").all_groups == ["dev", "system:authenticated"]

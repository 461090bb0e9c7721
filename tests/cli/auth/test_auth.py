"""`homeostat auth` answers whether somebody may do something, and allows exactly that."""

from __future__ import annotations

import pytest

from homeostat.cli.auth.grant import _name
from tests.cli.running import Up


def test_what_is_denied_is_granted_by_one_command_and_nothing_else(up: Up) -> None:
    cli = up.cli
    question = ("auth", "can-i", "list", "deploy", "-n", "default", "--as", "anna")
    denied = cli.here(*question)
    assert (denied.code, denied.out.split()[0]) == (1, "no")
    granted = cli.here("auth", "grant", "list", "deploy", "--user", "anna", "-n", "default")
    assert granted.out.splitlines() == [
        "role.rbac.authorization.k8s.io/anna-list-deployments-apps created",
        "rolebinding.rbac.authorization.k8s.io/anna-list-deployments-apps created",
    ]
    allowed = cli.here(*question)
    assert (allowed.code, allowed.out.startswith("yes - ")) == (0, True), allowed.out
    for other in (("get", "deploy"), ("list", "deploy/scale"), ("list", "pods")):
        assert cli.here("auth", "can-i", *other, "-n", "default", "--as", "anna", "-q").code == 1
    assert cli.here(*question[:4], "-A", "--as", "anna").code == 1, "in one namespace only"


@pytest.mark.parametrize(
    ("grant", "question"),
    [
        (
            ("get", "cm", "one", "--serviceaccount", "ci:bot", "-n", "default"),
            ("get", "cm", "one", "-n", "default", "--as", "system:serviceaccount:ci:bot"),
        ),
        (("watch", "nodes", "--group", "ops"), ("watch", "nodes", "--as", "bob", "--as-group", "ops")),
        (("get", "/livez/x", "--user", "carl"), ("get", "/livez/x", "--as", "carl")),
    ],
    ids=["one object, to a service account", "cluster-scoped, to a group", "a path"],
)
def test_every_kind_of_subject_and_resource_can_be_granted(
    up: Up, grant: tuple[str, ...], question: tuple[str, ...]
) -> None:
    assert up.cli.here("auth", "can-i", *question).code == 1
    for word in ("created", "unchanged"):
        ended = up.cli.here("auth", "grant", *grant)
        assert (ended.code, ended.out.count(word)) == (0, 2), ended
    assert up.cli.here("auth", "can-i", *question).code == 0


def test_the_caller_is_asked_about_without_as(up: Up) -> None:
    assert up.cli.here("auth", "can-i", "*", "*", "-A").code == 0


def test_a_token_of_a_service_account_signs_it_in(up: Up) -> None:
    up.cli.here("apply", "-f", "-", stdin="{apiVersion: v1, kind: ServiceAccount, metadata: {name: robot}}")
    token = up.cli.here("auth", "token", "robot", "--duration", "20m").out
    assert token.count(".") == 2
    assert '"robot" not found' not in token
    assert up.cli.here("auth", "token", "nobody").code == 1


def test_a_grant_names_one_subject(up: Up) -> None:
    for subject in ((), ("--user", "a", "--group", "b"), ("--serviceaccount", "alone")):
        assert up.cli.here("auth", "grant", "get", "pods", *subject).code == 2


def test_names_that_are_cut_stay_different() -> None:
    one, other = (_name("a" * 80, "get", each) for each in ("pods", "secrets"))
    assert one != other
    assert max(map(len, (one, other))) <= 253

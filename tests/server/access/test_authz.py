from __future__ import annotations

import pytest

from homeostat.objects.errors import ForbiddenError, status_of
from homeostat.server.access.attributes import Attributes
from homeostat.server.access.authz import Authorizer, refusal
from homeostat.server.access.rbac.authorizer import Rbac
from homeostat.server.access.user import SELF
from tests.server.access.rbac.objects import granting, rule, user

U = user("u")

REFUSALS = {
    "an object in a namespace": (
        Attributes(U, "get", group="apps", resource="deployments", namespace="ns", name="x"),
        (
            'deployments.apps "x" is forbidden: '
            'User "u" cannot get resource "deployments" in API group "apps" in the namespace "ns"'
        ),
    ),
    "objects everywhere": (
        Attributes(U, "list", resource="pods"),
        'pods is forbidden: User "u" cannot list resource "pods" in API group "" at the cluster scope',
    ),
    "a subresource": (
        Attributes(U, "update", resource="pods", subresource="status", namespace="ns", name="x"),
        'pods "x" is forbidden: User "u" cannot update resource "pods/status" in API group "" in the namespace "ns"',
    ),
    "a URL": (Attributes(U, "get", path="/metrics"), 'forbidden: User "u" cannot get path "/metrics"'),
    "a name with markup": (
        Attributes(user("<b>&"), "get", path="/x"),
        'forbidden: User "&lt;b&gt;&amp;" cannot get path "/x"',
    ),
}


@pytest.mark.parametrize(("attributes", "message"), REFUSALS.values(), ids=REFUSALS)
def test_a_refusal_is_worded_as_in_kubernetes(attributes: Attributes, message: str) -> None:
    assert refusal(attributes).message == message


def test_a_refusal_ends_with_its_reason() -> None:
    assert refusal(Attributes(U, "get", path="/x"), "RBAC: why").message.endswith('path "/x": RBAC: why')


def test_a_refusal_names_resource_group_and_name_in_its_details() -> None:
    status = status_of(refusal(Attributes(U, "get", group="apps", resource="deployments", name="x")))
    assert status["details"] == {"name": "x", "group": "apps", "kind": "deployments"}
    assert (status["reason"], status["code"]) == ("Forbidden", 403)


def test_masters_may_do_everything_without_any_role() -> None:
    assert Authorizer(Rbac()).authorize(Attributes(SELF, "delete", resource="nodes")) == (True, "")


def test_require_passes_what_a_role_allows_and_raises_for_the_rest() -> None:
    authorizer = Authorizer(granting("User:u", rule("get", "pods")))
    authorizer.require(Attributes(U, "get", resource="pods"))
    with pytest.raises(ForbiddenError, match="cannot delete"):
        authorizer.require(Attributes(U, "delete", resource="pods"))

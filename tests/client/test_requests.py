"""Verbs on kinds as HTTP requests."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from homeostat.client.requests import Request, Requests, Selection, Writing
from homeostat.objects.errors import BadRequestError
from homeostat.objects.kind import LEASE, NAMESPACE, POD

PODS, LEASES, NAMESPACES = Requests(POD), Requests(LEASE), Requests(NAMESPACE)
WEB = Selection("shop", labels="app=web", fields="spec.nodeName=n")
ONE = "/api/v1/namespaces/shop/pods/a"


def told(request: Request) -> dict[str, object]:
    return {name: value for name, value in request.query.items() if value != ""}


@pytest.mark.parametrize(
    ("request_", "method", "path", "query"),
    [
        (PODS.get("a", "shop"), "GET", ONE, {}),
        (PODS.get("a", "shop", subresource="status"), "GET", f"{ONE}/status", {}),
        (LEASES.get("a", "b"), "GET", "/apis/coordination.k8s.io/v1/namespaces/b/leases/a", {}),
        (NAMESPACES.get("a/b"), "GET", "/api/v1/namespaces/a%2Fb", {}),
        (PODS.list(version="7"), "GET", "/api/v1/pods", {"limit": 500, "resourceVersion": "7"}),
        (PODS.list(limit=2, token="t", version="7"), "GET", "/api/v1/pods", {"limit": 2, "continue": "t"}),
        (
            PODS.watch(WEB, version="7", timeout_s=60),
            "GET",
            "/api/v1/namespaces/shop/pods",
            {
                "allowWatchBookmarks": "true",
                "resourceVersion": "7",
                "labelSelector": "app=web",
                "fieldSelector": "spec.nodeName=n",
                "timeoutSeconds": 60,
            },
        ),
        (
            PODS.watch(has_initial=True),
            "GET",
            "/api/v1/pods",
            {"allowWatchBookmarks": "true", "sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan"},
        ),
        (PODS.create({}, "shop", writing=Writing("me", is_dry_run=True)), "POST", "/api/v1/namespaces/shop/pods",
         {"fieldManager": "me", "dryRun": "All"}),
        (PODS.update({}, "a", "shop", subresource="status"), "PUT", f"{ONE}/status", {}),
        (PODS.patch({}, "a", "shop"), "PATCH", ONE, {}),
        (PODS.patch({}, "a", "shop", form="apply", writing=Writing("me", is_forced=True)), "PATCH", ONE,
         {"fieldManager": "me", "force": "true"}),
        (PODS.delete_all(WEB), "DELETE", "/api/v1/namespaces/shop/pods",
         {"labelSelector": "app=web", "fieldSelector": "spec.nodeName=n"}),
    ],
)  # fmt: skip
def test_a_verb_is_a_method_a_path_and_a_query(
    request_: Request, method: str, path: str, query: dict[str, object]
) -> None:
    assert (request_.method, request_.path, told(request_)) == (method, path, query)


def test_bodies_have_a_content_type() -> None:
    assert PODS.create({"metadata": {}}, "shop").body == {"apiVersion": "v1", "kind": "Pod", "metadata": {}}
    applied = LEASES.patch({"metadata": {"labels": {}}}, "a", "b", form="apply", writing=Writing("me"))
    assert applied.body == {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {"name": "a", "labels": {}},
    }
    assert applied.content_type == "application/apply-patch+yaml"
    assert PODS.patch([], "a", "shop", form="json").content_type == "application/json-patch+json"


def test_a_deletion_has_its_conditions_in_the_body() -> None:
    request = PODS.delete("a", "shop", uid="u", version="7", propagation="Foreground", grace_s=0, is_dry_run=True)
    assert request.body == {
        "kind": "DeleteOptions",
        "apiVersion": "v1",
        "preconditions": {"uid": "u", "resourceVersion": "7"},
        "propagationPolicy": "Foreground",
        "gracePeriodSeconds": 0,
        "dryRun": ["All"],
    }


@pytest.mark.parametrize(
    "make",
    [
        pytest.param(lambda: PODS.get("", "shop"), id="get"),
        pytest.param(lambda: PODS.delete("", "shop"), id="a deletion without a name is not one of everything"),
        pytest.param(lambda: PODS.delete("a"), id="delete without a namespace"),
        pytest.param(lambda: PODS.delete_all(Selection()), id="delete of all namespaces"),
        pytest.param(lambda: PODS.create({}), id="create without a namespace"),
        pytest.param(lambda: PODS.update({}, "..", "shop"), id="a step up"),
        pytest.param(lambda: PODS.get("a", ".."), id="a step up by namespace"),
        pytest.param(lambda: PODS.patch({}, "a", "shop", form="apply"), id="apply as nobody"),
    ],
)
def test_a_request_with_a_wrong_or_missing_part_is_refused(make: Callable[[], Request]) -> None:
    with pytest.raises(BadRequestError):
        make()

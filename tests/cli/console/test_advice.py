"""The attributes of a request that a SelfSubjectAccessReview is asked about."""

from __future__ import annotations

import pytest

from homeostat.cli.console.advice import attributes_of
from homeostat.objects.json import JsonObject

PODS = {"version": "v1", "resource": "pods", "namespace": "shop"}
SCALE = {"group": "apps", "version": "v1", "resource": "deployments", "subresource": "scale", "namespace": "shop"}


@pytest.mark.parametrize(
    ("method", "path", "attributes"),
    [
        ("GET", "/api/v1/namespaces/shop/pods", {"verb": "list", **PODS}),
        ("WATCH", "/api/v1/namespaces/shop/pods", {"verb": "watch", **PODS}),
        ("GET", "/api/v1/namespaces/shop/pods/a", {"verb": "get", "name": "a", **PODS}),
        ("POST", "/api/v1/namespaces/shop/pods", {"verb": "create", **PODS}),
        ("DELETE", "/api/v1/namespaces/shop/pods/a", {"verb": "delete", "name": "a", **PODS}),
        ("DELETE", "/api/v1/namespaces/shop/pods", {"verb": "deletecollection", **PODS}),
        ("PATCH", "/apis/apps/v1/namespaces/shop/deployments/web/scale", {"verb": "patch", "name": "web", **SCALE}),
        ("GET", "/version", None),
    ],
)
def test_a_request_has_the_attributes_of_its_path(method: str, path: str, attributes: JsonObject | None) -> None:
    assert attributes_of(method, path) == attributes

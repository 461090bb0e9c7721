"""Whatever a path looks like, it names something, nothing (404) or is no path at all (400); a wrong verb is a 405."""

from __future__ import annotations

import pytest

from tests.api.objects import CONFIGMAPS, CRDS, DEPLOYMENTS
from tests.fuzz.driver import Driver, assert_answered_well
from tests.fuzz.kinds import ACCESS_REVIEWS

METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "PROPFIND", "BREW"]

NOWHERE = {
    "": 404,
    "*": 404,
    "x": 404,
    "//": 404,
    "/..": 400,
    "/nothing": 404,
    "/api/v2": 404,
    "/api/v1/nothing": 404,
    "/api/v1//configmaps": 404,
    "/api/v1/namespaces//configmaps": 404,
    "/api/v1/namespaces/../configmaps": 400,
    "/api/v1/namespaces/default/namespaces/x": 404,
    "/api/v1/namespaces/default/configmaps/nobody": 404,
    "/api/v1/namespaces/default/configmaps/base/nothing": 404,
    "/api/v1/namespaces/default/configmaps/base/status/more": 404,
    "/api/v1/namespaces/default/pods/x/log": 404,
    "/api/v1/nodes/x/proxy/y": 404,
    "/api/v1/watch/namespaces/default/gizmos": 404,
    "/apis/nothing": 404,
    "/apis/nothing/v1": 404,
    "/apis/nothing/v1/things": 404,
    "/apis/apps/v9": 404,
    "/apis/apps/v9/deployments": 404,
    "/apis/apps/v1/nothing": 404,
    "/apis/apps/v1/namespaces/default/deployments/base/scale/more": 404,
    "/openapi/v3/nothing": 404,
    "/openapi/v3/%ff": 400,
    "/openapi/v3/../../etc/passwd": 400,
    "/api/v1" + "/a" * 5000: 404,
    "/apis" + "/a" * 5000: 404,
    f"{CONFIGMAPS}/" + "a" * 15_000: 404,
    f"{CONFIGMAPS}/\xff\xfe": 404,
    f"{CONFIGMAPS}/%": 404,
    f"{CONFIGMAPS}/%zz": 404,
    f"{CONFIGMAPS}/%C3%A9": 404,
    f"{CONFIGMAPS}/a%2fb": 400,
    f"{CONFIGMAPS}/%2e%2e": 400,
    f"{CONFIGMAPS}/%00": 400,
    f"{CONFIGMAPS}/%ff": 400,
    f"{CONFIGMAPS}/%ed%a0%80": 400,
    f"{CONFIGMAPS}/%c0%80": 400,
    "/api/v1/namespaces/%2e/configmaps": 400,
    "/api/v1/namespaces/a%00b/configmaps": 400,
}


@pytest.mark.parametrize(
    ("path", "code"), NOWHERE.items(), ids=[path[:60].encode("unicode_escape").decode() for path in NOWHERE]
)
def test_an_unknown_path_is_not_found(driver: Driver, path: str, code: int) -> None:
    answer = driver.send("GET", path)
    assert_answered_well(answer)
    assert answer.status == code
    for method in METHODS:
        assert_answered_well(driver.send(method, path))
        assert_answered_well(driver.send(method, path, b"{}"))


REFUSED_METHODS = {
    "a collection": (CONFIGMAPS, "PUT PATCH OPTIONS TRACE BREW"),
    "an object": (f"{CONFIGMAPS}/base", "POST OPTIONS TRACE BREW"),
    "a collection of all namespaces": ("/api/v1/configmaps", "POST PUT PATCH DELETE OPTIONS TRACE BREW"),
    "a cluster's collection": (CRDS, "PUT PATCH OPTIONS TRACE BREW"),
    "a review": (ACCESS_REVIEWS, "GET PUT PATCH DELETE OPTIONS TRACE BREW"),
    "discovery": ("/api/v1", "POST PUT PATCH DELETE OPTIONS TRACE BREW"),
    "groups": ("/apis", "POST PUT PATCH DELETE OPTIONS TRACE BREW"),
    "OpenAPI": ("/openapi/v3", "POST PUT PATCH DELETE OPTIONS TRACE BREW"),
    "an object's scale": (f"{DEPLOYMENTS}/base/scale", "POST DELETE OPTIONS TRACE BREW"),
    "an object's status": (f"{DEPLOYMENTS}/base/status", "POST DELETE OPTIONS TRACE BREW"),
    "an account's token": ("/api/v1/namespaces/default/serviceaccounts/default/token", "GET PUT PATCH DELETE"),
    "the version": ("/version", "POST PUT PATCH DELETE OPTIONS TRACE BREW"),
    "the metrics": ("/metrics", "POST PUT PATCH DELETE OPTIONS TRACE BREW"),
    "the root": ("/", "POST PUT PATCH DELETE OPTIONS TRACE BREW"),
}


@pytest.mark.parametrize(("path", "methods"), REFUSED_METHODS.values(), ids=REFUSED_METHODS)
def test_a_method_that_a_path_does_not_have_is_refused(driver: Driver, path: str, methods: str) -> None:
    for method in methods.split():
        answer = driver.send(method, path, b"{}")
        assert_answered_well(answer)
        assert (method, answer.status, answer.json["reason"]) == (method, 405, "MethodNotAllowed")


@pytest.mark.parametrize("path", ["/api", "/apis", "/api/v1", "/openapi/v3", "/", "/livez", "/version", "/metrics"])
def test_a_page_may_be_asked_for_with_anything_beside_it(driver: Driver, path: str) -> None:
    for query in ("a", "=", "&&&", "%", "%ff", "%00", "watch=1", "timeout=32s", "x" * 10_000):
        assert driver.send("GET", path, query=query).status == 200

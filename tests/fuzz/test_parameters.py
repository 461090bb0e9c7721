"""Parameters and headers that nobody sends by mistake: understood, ignored or refused, and never a fault."""

from __future__ import annotations

from base64 import urlsafe_b64encode
from urllib.parse import quote

import pytest

from tests.api.conftest import APPLY
from tests.api.objects import CONFIGMAPS, configmap
from tests.fuzz.driver import Driver, assert_answered_well
from tests.fuzz.kinds import FREES

NAMES = [
    "watch",
    "limit",
    "continue",
    "labelSelector",
    "fieldSelector",
    "resourceVersion",
    "resourceVersionMatch",
    "sendInitialEvents",
    "allowWatchBookmarks",
    "timeoutSeconds",
    "dryRun",
    "fieldManager",
    "fieldValidation",
    "force",
    "pretty",
    "propagationPolicy",
    "gracePeriodSeconds",
    "orphanDependents",
    "includeObject",
    "unknown",
]
FUTURE = "9" * 19
VALUES = [
    *["", "0", "1", "-1", "true", "x", FUTURE, "-" + "9" * 18, "9" * 40, "1e5", "0x1", "1.5", "٣", "é", "a" * 5000],
    *["%00", "%ff", "\xff", "%ed%a0%80", "%0d%0a", "%", "+", "a=b", "a!=b,c", "a%20in%20(b", "((", "metadata.name="],
]


@pytest.mark.parametrize("name", NAMES)
def test_any_parameter_may_have_any_value(driver: Driver, name: str) -> None:
    for value in VALUES:
        if (name, value) == ("resourceVersion", FUTURE):
            continue
        query = f"{name}={value}"
        assert_answered_well(driver.send("GET", CONFIGMAPS, query=query))
        assert_answered_well(driver.send("GET", f"{CONFIGMAPS}/base", query=query))
        assert_answered_well(driver.send("GET", CONFIGMAPS, query=f"watch=true&{query}"))
        assert_answered_well(driver.send("DELETE", CONFIGMAPS, query=f"{query}&labelSelector=nobody"))
        assert_answered_well(driver.send("POST", CONFIGMAPS, configmap("base"), query=query))
        applied = f"dryRun=All&fieldManager=fuzz&{query}"
        assert_answered_well(driver.send("PATCH", f"{CONFIGMAPS}/base", configmap("base"), query=applied, type=APPLY))


def test_a_revision_of_the_future_is_waited_for_and_then_a_timeout(driver: Driver) -> None:
    answer = driver.send("GET", CONFIGMAPS, query=f"resourceVersion={FUTURE}")
    assert (answer.status, answer.json["reason"]) == (504, "Timeout")
    assert answer.json["details"]["causes"][0]["reason"] == "ResourceVersionTooLarge"


REFUSED = {
    "limit=": 400,
    "limit=x": 400,
    "limit=9999999999999999999999": 400,
    "timeoutSeconds=soon": 400,
    "resourceVersion=-1": 400,
    "resourceVersion=x": 400,
    "resourceVersion=٣": 400,
    "resourceVersionMatch=Exact": 422,
    "resourceVersionMatch=Sometimes": 422,
    "resourceVersion=0&resourceVersionMatch=Exact": 422,
    "sendInitialEvents=true": 422,
    "watch=1&sendInitialEvents=true": 422,
    "watch=1&resourceVersion=x": 400,
    "watch=1&resourceVersionMatch=NotOlderThan": 422,
    "labelSelector=((": 400,
    "labelSelector=a+in+(b": 400,
    "labelSelector=a+in": 400,
    "labelSelector=%3D%3D": 400,
    "labelSelector=" + "a" * 300: 400,
    "labelSelector=a=" + "b" * 100: 400,
    "labelSelector=a%00": 400,
    "labelSelector=" + quote("(" * 5000): 400,
    "fieldSelector=nothing%3Dx": 400,
    "fieldSelector=metadata.name": 400,
    "fieldSelector=%3D": 400,
    "fieldSelector=" + quote("((" * 2000): 400,
    "%ff=1": 400,
    "a=%ff": 400,
    "a=%00": 400,
    "&".join(f"a{at}=1" for at in range(200)): 400,
}


@pytest.mark.parametrize(("query", "code"), REFUSED.items(), ids=[query[:50] for query in REFUSED])
def test_a_wrong_parameter_of_a_list_is_refused(driver: Driver, query: str, code: int) -> None:
    answer = driver.send("GET", CONFIGMAPS, query=query)
    assert_answered_well(answer)
    assert answer.status == code


@pytest.mark.parametrize(
    "query",
    [
        "",
        "a",
        "&&&",
        "=",
        "unknown=1",
        "pretty=",
        "timeout=32s",
        "limit=-1",
        "limit=%2B3",
        "watch=0",
        "dryRun=Some",
        "force=maybe",
    ],
)
def test_an_unknown_or_empty_parameter_is_no_harm(driver: Driver, query: str) -> None:
    assert driver.send("GET", CONFIGMAPS, query=query).status == 200


WRITE_REFUSED = {
    "dryRun=Some": 422,
    "fieldValidation=Loud": 422,
    "fieldManager=" + "a" * 200: 422,
    "fieldManager=%0a": 422,
    "fieldManager=%00": 400,
}


@pytest.mark.parametrize(("query", "code"), WRITE_REFUSED.items(), ids=[query[:50] for query in WRITE_REFUSED])
def test_a_wrong_parameter_of_a_write_is_refused(driver: Driver, query: str, code: int) -> None:
    for method, path in (("POST", CONFIGMAPS), ("PUT", f"{CONFIGMAPS}/base")):
        answer = driver.send(method, path, configmap("base"), query=query)
        assert_answered_well(answer)
        assert (method, answer.status) == (method, code)


DELETE_REFUSED = {
    "dryRun=Some": 422,
    "propagationPolicy=": 422,
    "gracePeriodSeconds=": 400,
    "uid=other": 409,
    "resourceVersion=1": 409,
}


@pytest.mark.parametrize(("query", "code"), DELETE_REFUSED.items(), ids=[query[:50] for query in DELETE_REFUSED])
def test_a_wrong_parameter_of_a_deletion_is_refused(driver: Driver, query: str, code: int) -> None:
    answer = driver.send("DELETE", f"{CONFIGMAPS}/base", b"", query=query)
    assert_answered_well(answer)
    assert answer.status == code


def _forged(text: str) -> str:
    return urlsafe_b64encode(text.encode()).decode()


FORGED = {
    "no base64": "????",
    "no JSON": _forged("x"),
    "null": _forged("null"),
    "an empty object": _forged("{}"),
    "another form": _forged('{"rv":"1","after":[]}'),
    "too short": _forged('{"rv":1,"after":["a"]}'),
    "the future": _forged('{"rv":999999999999,"after":["default","a"]}'),
    "beyond 64 bits": _forged('{"rv":99999999999999999999,"after":["default","a"]}'),
    "nesting": _forged("[" * 3000),
    "not ASCII": "é",
    "a Kubernetes token": _forged('{"v":"meta.k8s.io/v1","rv":3,"start":"a"}'),
}


@pytest.mark.parametrize("token", FORGED.values(), ids=FORGED)
def test_a_forged_continue_token_is_a_bad_request(driver: Driver, token: str) -> None:
    answer = driver.send("GET", CONFIGMAPS, query=f"limit=1&continue={quote(token)}")
    assert_answered_well(answer)
    assert answer.status == 400


@pytest.mark.parametrize("revision", [0, -1, -5, 1])
@pytest.mark.parametrize("after", ['["",""]', '["\\u0000","\\u0000"]', '["zzz","zzz"]'])
def test_a_forged_token_of_the_right_form_shows_nothing_that_a_list_does_not(
    driver: Driver, revision: int, after: str
) -> None:
    token = _forged(f'{{"rv":{revision},"after":{after}}}')
    answer = driver.send("GET", CONFIGMAPS, query=f"limit=5&continue={token}")
    assert_answered_well(answer)
    assert answer.status in {200, 400, 410}
    if answer.status == 200:
        assert answer.json["kind"] == "ConfigMapList"


ACCEPTED = {
    "text/html": 406,
    "application/vnd.kubernetes.protobuf;as=Table;v=v1;g=meta.k8s.io": 406,
    "application/vnd.kubernetes.protobuf;stream=other": 406,
    "application/cbor": 406,
    "application/json;q=0": 406,
    ";;;": 406,
    "application/json;as=Table;v=v9;g=meta.k8s.io": 406,
    "\xff": 406,
    "a/b/c," * 2000: 406,
    "application/json;as=Other;v=v1;g=meta.k8s.io, */*": 200,
    "*/*": 200,
    ",,, application/yaml": 200,
    "application/json;" * 3000: 200,
}


@pytest.mark.parametrize(("accept", "code"), ACCEPTED.items(), ids=[text[:50] for text in ACCEPTED])
def test_an_answer_has_a_form_the_client_accepts_or_none(driver: Driver, accept: str, code: int) -> None:
    headers = {"accept": accept}
    for path in (CONFIGMAPS, f"{CONFIGMAPS}/base", FREES, "/api/v1"):
        answer = driver.send("GET", path, headers=headers)
        assert_answered_well(answer)
        assert (path, answer.status) == (path, code)
    answer = driver.send("POST", CONFIGMAPS, configmap("unaccepted"), query="dryRun=All", headers=headers)
    assert answer.status == (201 if code == 200 else code)
    assert_answered_well(driver.send("GET", CONFIGMAPS, query="watch=1", headers=headers))


HEADERS = [
    *["impersonate-user", "impersonate-group", "impersonate-uid", "impersonate-extra-x", "impersonate-extra-%ff"],
    *["authorization", "accept-encoding", "user-agent", "if-none-match", "warning", "x-forwarded-for", "cookie"],
]


@pytest.mark.parametrize("name", HEADERS)
def test_any_header_may_have_any_value(driver: Driver, name: str) -> None:
    for value in ("", "\xff", "%00", "x" * 5000, "Bearer ", "Bearer x.y.z", "system:serviceaccount::", "a,b;c", '"'):
        for method, body in (("GET", b""), ("POST", configmap("base"))):
            assert_answered_well(driver.send(method, CONFIGMAPS, body, headers={name: value}))
        assert_answered_well(driver.send("GET", "/openapi/v3", headers={name: value}))

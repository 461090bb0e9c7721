from __future__ import annotations

import pytest

from homeostat.objects.errors import ApiError, BadRequestError, ConflictError, InvalidError, NotFoundError
from homeostat.objects.json import JsonObject
from homeostat.server.access.tokens.request import answer_token_request
from homeostat.server.access.tokens.service_account import DEFAULT_ISSUER
from tests.server.access.tokens.test_service_account import NOW, account_tokens


def requested(spec: JsonObject | None = None, *, name: str = "bot") -> JsonObject:
    return answer_token_request(account_tokens(), {"spec": spec}, namespace="ci", name=name, now=NOW)


def test_the_answer_holds_a_token_that_the_plane_accepts() -> None:
    answer = requested()
    assert account_tokens().verify(answer["status"]["token"], now=NOW).user.name == "system:serviceaccount:ci:bot"
    assert answer["kind"] == "TokenRequest"
    assert answer["metadata"]["name"] == "bot"
    assert answer["spec"] == {"audiences": [DEFAULT_ISSUER], "expirationSeconds": 3600}
    assert answer["status"]["expirationTimestamp"] == "2030-03-17T18:46:40Z"


def test_audiences_life_and_bound_object_are_as_asked() -> None:
    spec = {
        "audiences": ["vault"],
        "expirationSeconds": 600,
        "boundObjectRef": {"kind": "Pod", "apiVersion": "v1", "name": "web", "uid": "pod-uid"},
    }
    answer = requested(spec)
    accepted = account_tokens().verify(answer["status"]["token"], now=NOW, audiences=["vault"])
    assert answer["spec"] == spec
    assert accepted.expires == NOW + 600
    assert accepted.user.extra["authentication.kubernetes.io/pod-name"] == ("web",)


def bound(**ref: str) -> JsonObject:
    return {"boundObjectRef": {"kind": "Pod", "apiVersion": "v1", "name": "web"} | ref}


REFUSED = {
    "too short": ({"expirationSeconds": 599}, InvalidError, "spec.expirationSeconds: Invalid value: 599: may not "),
    "too long": ({"expirationSeconds": 2**32 + 1}, InvalidError, "larger than 2^32 seconds"),
    "a wrong type": ({"expirationSeconds": "soon"}, BadRequestError, "expirationSeconds"),
    "a wrong list": ({"audiences": "vault"}, BadRequestError, "audiences"),
    "a spec that is none": ([], BadRequestError, "spec"),
    "bound to nothing known": (bound(kind="Job", apiVersion="batch/v1"), BadRequestError, "batch/v1, Kind=Job"),
    "bound to a Pod that is not there": (bound(name="db"), NotFoundError, 'pods "db" not found'),
    "bound to a Pod of another account": (bound(name="other"), BadRequestError, 'serviceaccount "bot" to pod running'),
    "bound to a Pod of another UID": (bound(uid="old"), ConflictError, "The object might have been deleted"),
}


@pytest.mark.parametrize(("spec", "error", "message"), REFUSED.values(), ids=REFUSED)
def test_a_request_that_cannot_be_met_says_why(spec: JsonObject, error: type[ApiError], message: str) -> None:
    with pytest.raises(error) as refused:
        requested(spec)
    assert message in refused.value.message


def test_nulls_count_as_absent() -> None:
    answer = requested({"audiences": None, "expirationSeconds": None, "boundObjectRef": None})
    assert answer["spec"] == {"audiences": [DEFAULT_ISSUER], "expirationSeconds": 3600}


def test_an_account_that_is_not_there_is_not_found() -> None:
    with pytest.raises(NotFoundError, match='serviceaccounts "nobody" not found'):
        requested(name="nobody")

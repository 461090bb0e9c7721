from __future__ import annotations

import base64
from typing import Any

import msgspec
import pytest

from homeostat.objects.patch.json import MAX_OPERATIONS
from homeostat.server.admission.webhooks.review import LARGEST_PART, AnswerError, Verdict, verdict_of

REVIEW = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview"}
PATCH = base64.b64encode(b'[{"op":"remove","path":"/a"}]').decode()


def read(review: Any, *, may_patch: bool = True) -> Verdict:
    body = review if isinstance(review, bytes) else msgspec.json.encode(review)
    return verdict_of(body, webhook="w.example.com", uid="1", may_patch=may_patch)


def answer(**response: Any) -> dict[str, Any]:
    return {**REVIEW, "response": {"uid": "1", "allowed": True, **response}}


@pytest.mark.parametrize(
    ("status", "code", "reason", "told"),
    [
        (None, 400, "", " without explanation"),
        ({}, 400, "", " without explanation"),
        ({"message": "no tabs", "code": 403, "reason": "Forbidden"}, 403, "Forbidden", ": no tabs"),
        ({"reason": "NotToday"}, 400, "NotToday", ": NotToday"),
        ({"message": "odd", "code": 200}, 400, "", ": odd"),
        ({"message": "odd", "code": 1000}, 400, "", ": odd"),
        ({"message": "busy", "code": 429, "reason": "TooManyRequests"}, 429, "TooManyRequests", ": busy"),
        ({"message": 1, "code": "x", "details": [], "reason": None}, 400, "", " without explanation"),
    ],
    ids=["none", "bare", "forbidden", "reason", "success", "beyond", "busy", "nonsense"],
)
def test_a_denial_has_the_webhooks_message(status: Any, code: int, reason: str, told: str) -> None:
    refusal = read(answer(allowed=False, status=status)).refusal
    assert refusal is not None
    assert (refusal.code, refusal.reason) == (code, reason)
    assert refusal.message == f'admission webhook "w.example.com" denied the request{told}'


def test_a_refusal_keeps_its_details() -> None:
    causes = [{"reason": "FieldValueInvalid", "message": "m", "field": "f"}, "odd"]
    details = {"name": "n", "group": "g", "kind": "k", "retryAfterSeconds": 3, "causes": causes}
    refusal = read(answer(allowed=False, status={"details": details})).refusal
    assert refusal is not None
    assert (refusal.name, refusal.group, refusal.kind, refusal.retry_after_s) == ("n", "g", "k", 3)
    assert [(each.kind, each.message, each.field) for each in refusal.causes] == [("FieldValueInvalid", "m", "f")]


def test_a_patch_is_read() -> None:
    verdict = read(answer(patch=PATCH, patchType="JSONPatch", warnings=["w"]))
    assert verdict == Verdict(None, [{"op": "remove", "path": "/a"}], ["w"])


@pytest.mark.parametrize(
    ("review", "told"),
    [
        (b"<html>", "not an AdmissionReview"),
        (b"\xff", "not an AdmissionReview"),
        (b"[" * 5000, "not an AdmissionReview"),
        ([], "not an AdmissionReview"),
        (answer(allowed="yes"), "not an AdmissionReview"),
        (REVIEW, "response was absent"),
        (answer(uid="2"), 'expected response.uid="1", got "2"'),
        ({**answer(), "apiVersion": "admission.k8s.io/v1beta1"}, "expected webhook response of admission.k8s.io/v1"),
        ({**answer(), "kind": "Status"}, "Kind=Status"),
        (answer(patch=PATCH), "response.patch but not response.patchType"),
        (answer(patchType="JSONPatch"), "response.patchType but not response.patch"),
        (answer(patch=PATCH, patchType="Merge"), 'unsupported patch type "Merge"'),
        (answer(patch="%%%", patchType="JSONPatch"), "undecodable patch"),
        (answer(patch="e30=", patchType="JSONPatch"), "not an array"),
        (answer(patch="WzE", patchType="JSONPatch"), "undecodable patch"),
    ],
    ids=range(15),
)
def test_what_is_no_answer_is_refused(review: Any, told: str) -> None:
    with pytest.raises(AnswerError) as caught:
        read(review)
    assert told in str(caught.value)


@pytest.mark.parametrize("more", [{"patch": PATCH}, {"patchType": "JSONPatch"}], ids=["patch", "type"])
def test_a_validating_webhook_may_not_patch(more: dict[str, str]) -> None:
    with pytest.raises(AnswerError, match="validating webhook may not return"):
        read(answer(**more), may_patch=False)


def test_large_warnings_and_annotations_are_left_out() -> None:
    many = answer(warnings=["w"] * LARGEST_PART, auditAnnotations={f"k{at}": "v" for at in range(LARGEST_PART)})
    verdict = read(many)
    assert verdict.annotations == {}
    assert verdict.warnings == [f"the webhook returned {4 * LARGEST_PART + 1} bytes of warnings; they are left out"]


def test_a_denial_with_a_large_explanation_stays_a_denial() -> None:
    refusal = read(answer(allowed=False, status={"message": "x" * LARGEST_PART, "code": 403})).refusal
    assert refusal is not None
    assert (refusal.code, refusal.causes) == (400, ())
    assert len(refusal.message) < 200


def test_a_patch_of_too_many_operations_is_refused_before_it_is_applied() -> None:
    operations = [{"op": "remove", "path": "/a"}] * (MAX_OPERATIONS + 1)
    encoded = base64.b64encode(msgspec.json.encode(operations)).decode()
    with pytest.raises(AnswerError, match=f"has {MAX_OPERATIONS + 1} operations; at most {MAX_OPERATIONS}"):
        read(answer(patch=encoded, patchType="JSONPatch"))


def test_a_text_that_the_error_quotes_is_short() -> None:
    with pytest.raises(AnswerError) as caught:
        read(answer(uid="2" * 1_000_000))
    assert len(str(caught.value)) < 400

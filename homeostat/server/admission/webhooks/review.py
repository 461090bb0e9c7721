"""AdmissionReview v1: builds the request to a webhook and reads its response. Pure.

A response may have megabytes. Only a patch has a use for them: other parts that are large are left out.
"""

from __future__ import annotations

import base64
import binascii
from dataclasses import dataclass, field
from typing import TypeVar

import msgspec

from homeostat.objects.errors import BadRequestError, Cause
from homeostat.objects.json import Json, JsonObject, decode, encode
from homeostat.objects.patch.json import MAX_OPERATIONS
from homeostat.server.admission.attempt import Attempt
from homeostat.server.admission.denial import DeniedError
from homeostat.server.kinds.registry import Kind
from homeostat.server.request.too_long import is_offloaded

T = TypeVar("T")
_API_VERSION = "admission.k8s.io/v1"
_JSON_PATCH = "JSONPatch"
LARGEST_PART = 64 * 1024
"""Of the warnings, the annotations and the status of a denial, each; a larger one is left out."""
_MOST_WARNINGS = 100
_LONGEST_QUOTE = 256


class AnswerError(Exception):
    """The response does not answer this review."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """The decision of a webhook: `refusal` is None if it allows the write; `operations` are a JSON patch."""

    refusal: DeniedError | None
    operations: list[Json]
    warnings: list[str]
    annotations: dict[str, str] = field(default_factory=dict)
    """For the audit log."""
    size: int = field(default=0, compare=False)
    """Of the patch, in characters as sent."""


def review_of(attempt: Attempt, kind: Kind, uid: str, *, may_patch: bool = False) -> bytes:
    """The body to send: the attempt at the version of `kind`. Who may patch it sees it before the server counts it."""
    obj = attempt.object_as(kind)
    request = {
        "uid": uid,
        **attempt.request(kind),
        "object": _uncounted(obj, attempt.old) if may_patch and obj is not None else obj,
        "oldObject": attempt.old_as(kind),
    }
    return encode({"kind": "AdmissionReview", "apiVersion": _API_VERSION, "request": request})


def _uncounted(obj: JsonObject, old: JsonObject | None) -> JsonObject:
    """With the generation that the object had before."""
    former = (old or {}).get("metadata", {}).get("generation")
    if obj["metadata"].get("generation") == former:
        return obj
    rest = {name: value for name, value in obj["metadata"].items() if name != "generation"}
    return {**obj, "metadata": rest if former is None else {**rest, "generation": former}}


_NULL = msgspec.Raw(b"null")


class _Response(msgspec.Struct, rename="camel"):
    uid: str = ""
    allowed: bool = False
    status: msgspec.Raw = _NULL
    patch: str | None = None
    patch_type: str | None = None
    warnings: msgspec.Raw = _NULL
    audit_annotations: msgspec.Raw = _NULL


class _Review(msgspec.Struct, rename="camel"):
    kind: str = ""
    api_version: str = ""
    response: _Response | None = None


_reviews = msgspec.json.Decoder(_Review)
_statuses = msgspec.json.Decoder(JsonObject | None)
_warnings = msgspec.json.Decoder(list[str] | None)
_annotations = msgspec.json.Decoder(dict[str, str] | None)


def verdict_of(body: bytes, *, webhook: str, uid: str, may_patch: bool) -> Verdict:
    """Read the webhook's response to the review `uid`; `AnswerError` if it is invalid."""
    try:
        return _verdict_of(_reviews.decode(body), webhook=webhook, uid=uid, may_patch=may_patch)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise AnswerError(f"the response is not an AdmissionReview: {error}") from error


def _verdict_of(review: _Review, *, webhook: str, uid: str, may_patch: bool) -> Verdict:
    response = review.response
    if response is None:
        raise AnswerError("webhook response was absent")
    if response.uid != uid:
        raise AnswerError(f'expected response.uid="{uid}", got "{response.uid[:_LONGEST_QUOTE]}"')
    if (review.api_version, review.kind) != (_API_VERSION, "AdmissionReview"):
        raise AnswerError(
            f"expected webhook response of {_API_VERSION}, Kind=AdmissionReview, "
            f"got {review.api_version[:_LONGEST_QUOTE]}, Kind={review.kind[:_LONGEST_QUOTE]}"
        )
    operations = _operations(response) if may_patch else _without_patch(response)
    status = _read(_statuses, response.status) or {}
    return Verdict(
        None if response.allowed else _refusal(webhook, status, len(response.status)),
        operations,
        _warnings_of(response.warnings),
        _read(_annotations, response.audit_annotations) or {},
        size=len(response.patch or ""),
    )


def _read(decoder: msgspec.json.Decoder[T], part: msgspec.Raw) -> T | None:
    """A part of the response; None if it is too large."""
    return decoder.decode(part) if len(part) <= LARGEST_PART else None


def _warnings_of(part: msgspec.Raw) -> list[str]:
    if len(part) > LARGEST_PART:
        return [f"the webhook returned {len(part)} bytes of warnings; they are left out"]
    return (_read(_warnings, part) or [])[:_MOST_WARNINGS]


def _without_patch(response: _Response) -> list[Json]:
    if response.patch:
        raise AnswerError("validating webhook may not return response.patch")
    if response.patch_type is not None:
        raise AnswerError("validating webhook may not return response.patchType")
    return []


def _operations(response: _Response) -> list[Json]:
    if not response.patch:
        if response.patch_type is not None:
            raise AnswerError("webhook returned response.patchType but not response.patch")
        return []
    if response.patch_type is None:
        raise AnswerError("webhook returned response.patch but not response.patchType")
    if response.patch_type != _JSON_PATCH:
        raise AnswerError(f'unsupported patch type "{response.patch_type[:_LONGEST_QUOTE]}"')
    try:
        operations = decode(base64.b64decode(response.patch, validate=True), in_pieces=is_offloaded())
    except (binascii.Error, ValueError, BadRequestError) as error:
        raise AnswerError(f"received undecodable patch in webhook response: {error}") from error
    if not isinstance(operations, list):
        raise AnswerError("received undecodable patch in webhook response: it is not an array of operations")
    if (count := len(operations)) > MAX_OPERATIONS:
        # Freed here, in the thread, and not with the error on the event loop.
        del operations
        raise AnswerError(f"the patch has {count} operations; at most {MAX_OPERATIONS} are allowed")
    return operations


def _refusal(webhook: str, status: JsonObject, size: int) -> DeniedError:
    denied = f'admission webhook "{webhook}" denied the request'
    if size > LARGEST_PART:
        return DeniedError(400, "", f"{denied}; its explanation has {size} bytes and is left out")
    message, reason, code = _text(status, "message"), _text(status, "reason"), status.get("code")
    details = status.get("details")
    details = details if isinstance(details, dict) else {}
    explanation = message or reason
    seconds = details.get("retryAfterSeconds")
    return DeniedError(
        code if isinstance(code, int) and 400 <= code <= 599 else 400,
        reason,
        f"{denied}: {explanation}" if explanation else f"{denied} without explanation",
        kind=_text(details, "kind"),
        group=_text(details, "group"),
        name=_text(details, "name"),
        causes=_causes(details.get("causes")),
        retry_after_s=seconds if isinstance(seconds, int) and seconds > 0 else 0,
    )


def _causes(values: Json) -> list[Cause]:
    found = [each for each in values if isinstance(each, dict)] if isinstance(values, list) else []
    return [Cause(_text(each, "reason"), _text(each, "message"), _text(each, "field")) for each in found]


def _text(obj: JsonObject, name: str) -> str:
    value = obj.get(name)
    return value if isinstance(value, str) else ""

"""ConversionReview v1 and v1beta1: builds the request to a webhook and reads its response. Pure.

A webhook may change anything but the identity of an object. Of its metadata only labels and annotations count; the rest
is taken from the original, as in Kubernetes.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from homeostat.objects.client_config import REVIEW_VERSIONS
from homeostat.objects.errors import ApiError, BadRequestError
from homeostat.objects.json import Json, JsonObject, decode, encode
from homeostat.objects.names import check_annotations, check_labels

_GROUP = "apiextensions.k8s.io"
LONGEST_REASON = 4096
"""Characters of what a webhook says that the error repeats."""
_IDENTITY = (("name", "name"), ("namespace", "namespace"), ("UID", "uid"))
_GO_TYPES = {str: "string", bool: "bool", int: "int64", float: "float64", list: "[]interface {}", type(None): "<nil>"}


class ConversionError(ApiError):
    """An object cannot be shown or stored at the wanted version. As in Kubernetes, the Status has no reason."""

    code, reason = 500, ""


def failed(api_version: str, kind: str, why: str) -> ConversionError:
    return ConversionError(f"conversion webhook for {api_version}, Kind={kind} {why[:LONGEST_REASON]}")


def review_version(accepted: Sequence[str]) -> str:
    """The first version that the webhook accepts and the server knows; a valid definition has one."""
    return next(each for each in accepted if each in REVIEW_VERSIONS)


def review_of(objects: Sequence[JsonObject], *, wanted: str, version: str, uid: str) -> bytes:
    """The body to send: objects to be converted to the apiVersion `wanted`."""
    request = {"uid": uid, "desiredAPIVersion": wanted, "objects": objects}
    return encode({"kind": "ConversionReview", "apiVersion": f"{_GROUP}/{version}", "request": request})


class _Response(msgspec.Struct, rename="camel"):
    uid: str = ""
    converted_objects: list[Json] | None = None
    result: JsonObject | None = None


class _Review(msgspec.Struct, rename="camel"):
    kind: str = ""
    api_version: str = ""
    response: _Response | None = None


def converted_objects(
    body: bytes, originals: Sequence[JsonObject], *, wanted: str, version: str, uid: str, in_pieces: bool = False
) -> list[JsonObject]:
    """The originals at the version `wanted`; `ConversionError` if the response is no such thing."""
    first = originals[0]
    about = (first["apiVersion"], first["kind"])
    try:
        review = msgspec.convert(decode(body, in_pieces=in_pieces), _Review)
    except (BadRequestError, msgspec.ValidationError) as error:
        raise failed(*about, f"failed: the response is not a ConversionReview: {error}") from error
    if problem := _problem(review, version=version, uid=uid):
        raise failed(*about, f"failed: {problem}")
    assert review.response is not None
    found = review.response.converted_objects or []
    if len(found) != len(originals):
        raise failed(*about, f"returned {len(found)} objects, expected {len(originals)}")
    return [_accepted(obj, original, wanted) for obj, original in zip(found, originals, strict=True)]


def _problem(review: _Review, *, version: str, uid: str) -> str:
    if (review.api_version, review.kind) != (f"{_GROUP}/{version}", "ConversionReview"):
        found = f"{review.api_version}, Kind={review.kind}"
        return f"expected webhook response of {_GROUP}/{version}, Kind=ConversionReview, got {found}"
    response = review.response
    if response is None:
        return "no response provided"
    if response.uid != uid:
        return f'expected response.uid="{uid}", got "{response.uid}"'
    result = response.result or {}
    if result.get("status") == "Success":
        return ""
    return str(result.get("message") or f"response.result.status was '{result.get('status') or ''}', not 'Success'")


def _accepted(obj: Json, original: JsonObject, wanted: str) -> JsonObject:
    about = (original["apiVersion"], original["kind"])
    if not isinstance(obj, dict):
        raise failed(*about, f"returned invalid object at index 0: it is a {_go_type(obj)}")
    invalid = "returned invalid object at index 0: invalid"
    if obj.get("apiVersion") != wanted:
        raise failed(*about, f"{invalid} groupVersion (expected {wanted}, received {obj.get('apiVersion', '')})")
    if obj.get("kind") != original["kind"]:
        raise failed(*about, f"{invalid} kind (expected {original['kind']}, received {obj.get('kind', '')})")
    metadata, former = obj.get("metadata"), original["metadata"]
    claimed = metadata if isinstance(metadata, dict) else {}
    for label, name in _IDENTITY:
        if (claimed.get(name) or "") != former.get(name, ""):
            was, now = former.get(name, ""), claimed.get(name) or ""
            raise failed(*about, f"returned invalid object: must have the same {label}: {was} != {now}")
    try:
        return {**obj, "metadata": _restored(claimed, former)}
    except ValueError as error:
        raise failed(*about, f"returned invalid metadata: {error}") from error


def _restored(metadata: JsonObject, former: JsonObject) -> JsonObject:
    """The former metadata with the labels and annotations of the response; `ValueError` if those are invalid."""
    restored = {name: value for name, value in former.items() if name not in ("labels", "annotations")}
    for name in ("labels", "annotations"):
        values = metadata.get(name)
        if values is None:
            continue
        if not isinstance(values, dict):
            raise ValueError(f"invalid metadata.{name} of type {_go_type(values)} in converted object")
        for key, value in values.items():
            if not isinstance(value, str):
                message = f"metadata.{name}[{key}] must be a string, but is {_go_type(value)} in converted object"
                raise ValueError(message)
        if values != former.get(name):
            check, path = (check_labels, "labels") if name == "labels" else (check_annotations, "annotation")
            if causes := check(values, f"metadata.{path}"):
                texts = [f"{cause.field}: {cause.message}" for cause in causes]
                raise ValueError(texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]")
        if values:
            restored[name] = values
    return restored


def _go_type(value: Json) -> str:
    """As Kubernetes names the type of a JSON value in these errors."""
    return _GO_TYPES.get(type(value), "map[string]interface {}")

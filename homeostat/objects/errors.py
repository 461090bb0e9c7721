"""The errors of the Kubernetes API: each type knows its HTTP code, its reason and its `Status`.

    ApiError
    ├── BadRequestError 400         ├── ConflictError 409              ├── InvalidError 422 (causes)
    ├── UnauthorizedError 401       ├── AlreadyExistsError 409         ├── TooManyRequestsError 429
    ├── ForbiddenError 403          ├── ExpiredError 410               ├── InternalError 500
    ├── NotFoundError 404           ├── TooLargeError 413              ├── UnavailableError 503
    ├── MethodNotAllowedError 405   └── UnsupportedMediaTypeError 415  └── TimedOutError 504
    └── NotAcceptableError 406

Server and client share the tree: `status_of` and `error_of` are inverse. Text is for people and never parsed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sized
from itertools import islice
from typing import Any

import msgspec

MOST_CAUSES = 100
"""How many causes an error lists. An error should not be larger than the request, nor take longer to build."""
_LONGEST_MESSAGE = 2048
_LONGEST_VALUE = 512


class Cause(msgspec.Struct, frozen=True, rename={"kind": "reason"}, omit_defaults=True):
    """One reason why a field is invalid. `kind` is the wire's `reason`: FieldValueInvalid, FieldValueRequired, ..."""

    kind: str = ""
    message: str = ""
    field: str = ""


def quoted(value: object) -> str:
    """A value as Kubernetes prints it in messages: JSON."""
    return msgspec.json.encode(value).decode()


def shown(value: object) -> str:
    """As `quoted`, but a long value is cut off, so that a message has room for the reason."""
    if isinstance(value, str) and len(value) > _LONGEST_VALUE:
        value = value[:_LONGEST_VALUE]
    text = quoted(value)
    return text if len(text) <= _LONGEST_VALUE else f"{text[:_LONGEST_VALUE]}..."


def invalid(field: str, value: object, message: str) -> Cause:
    return Cause("FieldValueInvalid", f"Invalid value: {shown(value)}: {message}", field)


def type_invalid(field: str, value: object, message: str) -> Cause:
    return Cause("FieldValueTypeInvalid", f"Invalid value: {shown(value)}: {message}", field)


def required(field: str, message: str = "") -> Cause:
    return Cause("FieldValueRequired", f"Required value: {message}" if message else "Required value", field)


def forbidden(field: str, message: str) -> Cause:
    return Cause("FieldValueForbidden", f"Forbidden: {message}", field)


def duplicate(field: str, value: object) -> Cause:
    return Cause("FieldValueDuplicate", f"Duplicate value: {shown(value)}", field)


def unsupported(field: str, value: object, known: Iterable[str]) -> Cause:
    names = ", ".join(quoted(name) for name in sorted(known))
    return Cause("FieldValueNotSupported", f"Unsupported value: {shown(value)}: supported values: {names}", field)


def too_long(field: str, limit: int) -> Cause:
    return Cause("FieldValueTooLong", f"Too long: may not be more than {limit} bytes", field)


def are_enough(causes: Sized) -> bool:
    """Whether an error would list no further causes, so that validation can stop."""
    return len(causes) >= MOST_CAUSES


def too_many(field: str, count: int, limit: int) -> Cause:
    return Cause("FieldValueTooMany", f"Too many: {count}: must have at most {limit} items", field)


class ApiError(Exception):
    """A failed API request. `details` is the Status's `details` object, causes included."""

    code: int = 500
    reason: str = "InternalError"

    def __init__(
        self,
        message: str,
        *,
        kind: str = "",
        group: str = "",
        name: str = "",
        causes: Iterable[Cause] = (),
        retry_after_s: int = 0,
        continue_token: str = "",
    ) -> None:
        super().__init__(message)
        self.message = message
        self.kind, self.group, self.name = kind, group, name
        self.causes = tuple(causes)
        self.retry_after_s = retry_after_s
        self.continue_token = continue_token
        self.warnings: tuple[str, ...] = ()
        """Warnings of the server; sent as headers, not in the Status."""


class BadRequestError(ApiError):
    code, reason = 400, "BadRequest"


class UnauthorizedError(ApiError):
    code, reason = 401, "Unauthorized"


class ForbiddenError(ApiError):
    code, reason = 403, "Forbidden"


class NotFoundError(ApiError):
    code, reason = 404, "NotFound"


class MethodNotAllowedError(ApiError):
    code, reason = 405, "MethodNotAllowed"


class NotAcceptableError(ApiError):
    code, reason = 406, "NotAcceptable"


class ConflictError(ApiError):
    code, reason = 409, "Conflict"


class AlreadyExistsError(ApiError):
    code, reason = 409, "AlreadyExists"


class ExpiredError(ApiError):
    code, reason = 410, "Expired"


class TooLargeError(ApiError):
    code, reason = 413, "RequestEntityTooLarge"


class UnsupportedMediaTypeError(ApiError):
    code, reason = 415, "UnsupportedMediaType"


class InvalidError(ApiError):
    code, reason = 422, "Invalid"


class TooManyRequestsError(ApiError):
    code, reason = 429, "TooManyRequests"


class InternalError(ApiError):
    code, reason = 500, "InternalError"


class UnavailableError(ApiError):
    code, reason = 503, "ServiceUnavailable"


class TimedOutError(ApiError):
    code, reason = 504, "Timeout"


_BY_CODE_AND_REASON = {(each.code, each.reason): each for each in ApiError.__subclasses__()}
_BY_CODE = {each.code: each for each in reversed(ApiError.__subclasses__())}


def _shortened(cause: Cause) -> Cause:
    if len(cause.message) <= _LONGEST_MESSAGE and len(cause.field) <= _LONGEST_MESSAGE:
        return cause
    return Cause(cause.kind, f"{cause.message[:_LONGEST_MESSAGE]}...", cause.field[:_LONGEST_MESSAGE])


def invalid_object(kind: str, group: str, name: str, causes: Iterable[Cause]) -> InvalidError:
    """The 422 for an invalid object, in the words of Kubernetes. It lists at most `MOST_CAUSES` causes and shortens
    long ones.
    """
    causes = tuple(_shortened(cause) for cause in islice(causes, MOST_CAUSES))
    name = name[:_LONGEST_MESSAGE]
    texts = [f"{cause.field}: {cause.message}" if cause.field else cause.message for cause in causes]
    problems = texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"
    full_kind = f"{kind}.{group}" if group else kind
    return InvalidError(
        f"{full_kind} {quoted(name)} is invalid: {problems}", kind=kind, group=group, name=name, causes=causes
    )


def status_of(error: ApiError) -> dict[str, Any]:
    details: dict[str, Any] = {}
    if error.name:
        details["name"] = error.name
    if error.group:
        details["group"] = error.group
    if error.kind:
        details["kind"] = error.kind
    if error.causes:
        details["causes"] = [msgspec.to_builtins(cause) for cause in error.causes]
    if error.retry_after_s:
        details["retryAfterSeconds"] = error.retry_after_s
    metadata = {"continue": error.continue_token} if error.continue_token else {}
    status: dict[str, Any] = {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": metadata,
        "status": "Failure",
        "message": error.message,
    }
    if error.reason:
        status["reason"] = error.reason
    # kubectl reads the details of every NotFound without checking that there are any.
    if details or isinstance(error, NotFoundError):
        status["details"] = details
    status["code"] = error.code
    return status


def error_of(status: dict[str, Any], *, code: int = 500) -> ApiError:
    """The error that a `Status` of any Kubernetes API describes; `code` is used if the Status has none."""
    code = status.get("code") or code
    reason = status.get("reason", "")
    found = _BY_CODE_AND_REASON.get((code, reason)) or _BY_CODE.get(code, InternalError)
    details = status.get("details") or {}
    return found(
        status.get("message") or reason or f"HTTP {code}",
        kind=details.get("kind", ""),
        group=details.get("group", ""),
        name=details.get("name", ""),
        causes=[
            Cause(each.get("reason", ""), each.get("message", ""), each.get("field", ""))
            for each in details.get("causes") or ()
        ],
        retry_after_s=details.get("retryAfterSeconds", 0),
        continue_token=(status.get("metadata") or {}).get("continue", ""),
    )

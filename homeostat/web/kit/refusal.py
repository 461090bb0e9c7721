"""What a request is refused with: `{"detail": ...}` under an HTTP status.

The detail is a text, and for a body of the wrong shape (422) a list of `{loc, msg, type}`. An error of the Kubernetes
API becomes the refusal that callers of this API know.
"""

from __future__ import annotations

from collections.abc import Sequence

from homeostat.edge.reply import Fields, Reply
from homeostat.objects.errors import ApiError
from homeostat.objects.json import Json, JsonObject, encode

REQUEST_ID = "X-Request-Id"


class RefusalError(Exception):
    """`status` is the HTTP status."""

    def __init__(self, status: int, detail: Json, headers: Fields = ()) -> None:
        super().__init__(detail if isinstance(detail, str) else encode(detail).decode())
        self.status, self.detail, self.headers = status, detail, headers


def unauthorized(told: str = "Not authenticated") -> RefusalError:
    return RefusalError(401, told, (("WWW-Authenticate", "Bearer"),))


def forbidden(told: str) -> RefusalError:
    return RefusalError(403, told)


def unknown(told: str) -> RefusalError:
    return RefusalError(404, told)


def unprocessable(where: Sequence[str | int], told: str, kind: str = "value_error") -> RefusalError:
    """One field of a body or a query that cannot be taken: `unprocessable(("body", "name"), "...")`."""
    problem: JsonObject = {"loc": list(where), "msg": told, "type": kind}
    return RefusalError(422, [problem])


def refusal_of(error: ApiError) -> RefusalError:
    """What the Kubernetes API refused on behalf of this one."""
    headers: Fields = (("Retry-After", str(error.retry_after_s)),) if error.retry_after_s else ()
    if error.code in (401, 403):
        # It is this server that was not allowed, and not its caller.
        return RefusalError(502, f"the control plane refused this server: {error.message}", headers)
    if error.code == 422:
        told = [
            {"loc": ["body", *each.field.split(".")], "msg": each.message, "type": each.kind} for each in error.causes
        ]
        return RefusalError(422, told or [{"loc": ["body"], "msg": error.message, "type": error.reason}], headers)
    return RefusalError(error.code, error.message, headers)


def refusal_reply(error: RefusalError, request_id: str = "") -> Reply:
    body: JsonObject = {"detail": error.detail}
    headers = error.headers
    if request_id:
        body["request_id"] = request_id
        headers = (*headers, (REQUEST_ID, request_id))
    return Reply(error.status, encode(body), headers=headers)

"""Error responses of an HTTP app: `{"detail": ...}` under an HTTP status.

The detail is a text, or for an invalid body (422) a list of `{loc, msg, type}`. `refusal_of` turns an error of the
Kubernetes API into such a response.
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

    @property
    def text(self) -> str:
        """For people, on a page."""
        if not isinstance(self.detail, list):
            return str(self)
        problems = [each for each in self.detail if isinstance(each, dict)]
        return "; ".join(f"{_field(each.get('loc'))}: {each.get('msg')}" for each in problems)


def _field(location: Json) -> str:
    """`page` of `["query", "page"]`."""
    return ".".join(map(str, location[1:] or location)) if isinstance(location, list) else ""


def unauthorized(detail: str = "Not authenticated") -> RefusalError:
    return RefusalError(401, detail, (("WWW-Authenticate", "Bearer"),))


def forbidden(detail: str) -> RefusalError:
    return RefusalError(403, detail)


def unknown(detail: str) -> RefusalError:
    return RefusalError(404, detail)


def unprocessable(location: Sequence[str | int], message: str, kind: str = "value_error") -> RefusalError:
    """For one invalid field of a body or a query: `unprocessable(("body", "name"), "...")`."""
    problem: JsonObject = {"loc": list(location), "msg": message, "type": kind}
    return RefusalError(422, [problem])


def refusal_of(error: ApiError) -> RefusalError:
    """The response for an error of a request that this server sent to the Kubernetes API."""
    headers: Fields = (("Retry-After", str(error.retry_after_s)),) if error.retry_after_s else ()
    if error.code in (401, 403):
        # This server lacks the permission, not its caller.
        return RefusalError(502, f"the control plane refused this server: {error.message}", headers)
    if error.code == 422:
        problems = [
            {"loc": ["body", *each.field.split(".")], "msg": each.message, "type": each.kind} for each in error.causes
        ]
        return RefusalError(422, problems or [{"loc": ["body"], "msg": error.message, "type": error.reason}], headers)
    return RefusalError(error.code, error.message, headers)


def refusal_reply(error: RefusalError, request_id: str = "") -> Reply:
    body: JsonObject = {"detail": error.detail}
    headers = error.headers
    if request_id:
        body["request_id"] = request_id
        headers = (*headers, (REQUEST_ID, request_id))
    return Reply(error.status, encode(body), headers=headers)

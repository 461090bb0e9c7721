"""`If-Match`: a write that is based on an outdated version is refused. Pure."""

from __future__ import annotations

from homeostat.edge.reply import Reply
from homeostat.edge.request import Request
from homeostat.objects.json import Json, encode
from homeostat.web.kit.refusal import RefusalError


def tagged(status: int, body: Json, version: str, *more: tuple[str, str]) -> Reply:
    """A reply whose ETag is the version; the caller sends it back as `If-Match`."""
    return Reply(status, encode(body), headers=(("ETag", f'"{version}"'), *more))


def is_conditional(request: Request) -> bool:
    """Whether the caller names a version; `If-Match: *` matches any."""
    return request.headers.get("if-match", "*").strip() != "*"


def check_match(request: Request, version: str, *, since: int = 0) -> None:
    """`RefusalError` 412 if the caller names another version. Versions from `since` on count as equal to this one."""
    if not is_conditional(request):
        return
    tags = [each.strip() for each in request.headers["if-match"].split(",")]
    if f'"{version}"' not in tags and not any(_is_between(each, since, version) for each in tags):
        raise mismatch()


def _is_between(tag: str, since: int, version: str) -> bool:
    number = tag.strip('"')
    return bool(since) and number.isdecimal() and since <= int(number) <= int(version)


def mismatch() -> RefusalError:
    return RefusalError(412, "the object was changed meanwhile; read it again and retry")


def fresh(request: Request, body: bytes, *, version: str) -> Reply:
    """The body with its version as ETag; 304 without a body if the caller has this version."""
    tag = f'"{version}"'
    headers = (("ETag", tag), ("Cache-Control", "private, no-cache"))
    known = [each.strip().removeprefix("W/") for each in request.headers.get("if-none-match", "").split(",")]
    return Reply(304, headers=headers) if tag in known else Reply(200, body, headers=headers)

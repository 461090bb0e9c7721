"""The cookie of a session, and the proof that a form was made by one of our own pages. Pure.

Browsers do not send the cookie with requests from other sites (`SameSite=Strict`), scripts cannot read it (`HttpOnly`),
and it is sent only with requests below `root`. `sessions.py` has what it holds.
"""

from __future__ import annotations

import hmac
import re
from typing import Final

import msgspec

from homeostat.edge.request import Headers, Request

LONGEST_VALUE: Final = 3980
"""Browsers keep cookies of up to 4096 bytes, name and attributes included."""
LONGEST_TOKEN: Final = 3700
_is_token = re.compile(r"[A-Za-z0-9._~+/=-]+").fullmatch
_leads_out = re.compile(r"//|(?:\.|%2e){2}", re.IGNORECASE).search
_is_below = re.compile(r"(?:[/?][A-Za-z0-9/?&=%._~+-]*)?").fullmatch


class SessionCookie(msgspec.Struct, frozen=True):
    """The cookie of the pages below a path. `purpose` separates their form proofs from those of other apps."""

    root: str
    name: str
    purpose: bytes

    def value(self, request: Request) -> str:
        """The value of the cookie; empty without one."""
        for each in request.headers.get("cookie", "").split(";"):
            name, _, value = each.strip().partition("=")
            if name == self.name and len(value) <= LONGEST_VALUE and _is_token(value):
                return value
        return ""

    def keeping(self, request: Request, kept: str) -> tuple[str, str]:
        """The header that sets the cookie until the browser closes; an empty value deletes it."""
        secure = "; Secure" if request.peer.is_tls else ""
        ended = "" if kept else "; Max-Age=0"
        return "Set-Cookie", f"{self.name}={kept}; Path={self.root}; HttpOnly; SameSite=Strict{secure}{ended}"

    def form_proof(self, secret: bytes, kept: str) -> str:
        """A hidden field of each form. It cannot be computed without the cookie or, for visitors without one, without
        the secret of this process.
        """
        return hmac.new(kept.encode() or secret, self.purpose, "sha256").hexdigest()

    def place_of(self, text: str) -> str:
        """Where to go after a login: the requested page if it is one of ours, else `root`."""
        is_ours = text.startswith(self.root) and _is_below(text.removeprefix(self.root)) and not _leads_out(text)
        return text if is_ours else self.root


def is_token(text: str) -> bool:
    """Whether the text has the form of a token that fits into a cookie."""
    return len(text) <= LONGEST_TOKEN and _is_token(text) is not None


def with_token(request: Request, token: str, *, replaces: bool = False) -> Request:
    """The same request with the token in the `Authorization` header, as a client of the API sends it. A header that is
    there already stays, unless the token `replaces` it.
    """
    if not token or ("authorization" in request.headers and not replaces):
        return request
    headers = Headers()
    headers.update(request.headers)
    headers["authorization"] = f"Bearer {token}"
    return msgspec.structs.replace(request, headers=headers)


def is_own_page(request: Request) -> bool:
    """Whether the browser says that the form was sent by a page of this server."""
    origin, host = request.headers.get("origin"), request.headers.get("host", "")
    if origin is not None:
        scheme = "https" if request.peer.is_tls else "http"
        # A proxy in front of us may terminate TLS.
        return origin.lower() in (f"{scheme}://{host}".lower(), f"https://{host}".lower())
    return request.headers.get("sec-fetch-site", "same-origin") == "same-origin"

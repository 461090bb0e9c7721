"""The session of a browser: a credential that it keeps in a cookie, and the proof that a form is one of our own. Pure.

The cookie holds the very token that an API takes, so every replica knows it and there is nothing to forget. Pages of
other sites never get it sent (`SameSite=Strict`), scripts never see it (`HttpOnly`), and it is sent for the pages below
`root` alone.
"""

from __future__ import annotations

import hmac
import re
from dataclasses import dataclass
from typing import Final

import msgspec

from homeostat.edge.request import Headers, Request

LONGEST_TOKEN: Final = 3800
"""Browsers keep cookies of 4096 bytes, with their names and all."""
_is_token = re.compile(r"[A-Za-z0-9._~+/=-]+").fullmatch
_is_below = re.compile(r"(?:[/?][A-Za-z0-9/?&=%._~+-]*)?").fullmatch


@dataclass(frozen=True, slots=True)
class Sessions:
    """Of the pages below a path. `purpose` tells the proofs of their forms from those of others."""

    root: str
    cookie: str
    purpose: bytes

    def kept_token(self, request: Request) -> str:
        """Empty where there is none."""
        for each in request.headers.get("cookie", "").split(";"):
            name, _, value = each.strip().partition("=")
            if name == self.cookie and is_token(value):
                return value
        return ""

    def keeping(self, request: Request, token: str) -> tuple[str, str]:
        """The header that has the browser keep it, until it is closed; or, where it is empty, forget it."""
        secure = "; Secure" if request.peer.is_tls else ""
        ended = "" if token else "; Max-Age=0"
        return "Set-Cookie", f"{self.cookie}={token}; Path={self.root}; HttpOnly; SameSite=Strict{secure}{ended}"

    def form_proof(self, secret: bytes, token: str) -> str:
        """What a form of ours carries: nobody who lacks the token can say it, and without a token nobody who lacks the
        secret of this process.
        """
        return hmac.new(token.encode() or secret, self.purpose, "sha256").hexdigest()

    def place_of(self, text: str) -> str:
        """Where to go after a login: a page of ours, whatever was asked."""
        is_ours = text.startswith(self.root) and _is_below(text.removeprefix(self.root)) and "//" not in text
        return text if is_ours else self.root


def is_token(text: str) -> bool:
    """Whether it can be one at all, and fits into a cookie."""
    return len(text) <= LONGEST_TOKEN and _is_token(text) is not None


def with_token(request: Request, token: str) -> Request:
    """The request as a caller of an API would make it."""
    if not token or "authorization" in request.headers:
        return request
    headers = Headers()
    headers.update(request.headers)
    headers["authorization"] = f"Bearer {token}"
    return msgspec.structs.replace(request, headers=headers)


def is_own_page(request: Request) -> bool:
    """Whether what sends a form is a page of this server, as far as the browser tells."""
    origin, host = request.headers.get("origin"), request.headers.get("host", "")
    if origin is not None:
        scheme = "https" if request.peer.is_tls else "http"
        # What stands before us may speak TLS on our behalf.
        return origin.lower() in (f"{scheme}://{host}".lower(), f"https://{host}".lower())
    return request.headers.get("sec-fetch-site", "same-origin") == "same-origin"

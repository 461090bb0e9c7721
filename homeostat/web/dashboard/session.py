"""Who looks: a credential that the browser keeps in a cookie, and the proof that a form is one of our own. Pure.

The cookie holds the very token that the REST API takes, so every replica knows it and there is nothing to forget. Pages
of other sites never get it sent (`SameSite=Strict`), scripts never see it (`HttpOnly`), and the REST API does not take
it: it is for `/dashboard` alone.
"""

from __future__ import annotations

import hmac
import re
from typing import Final

import msgspec

from homeostat.edge.request import Headers, Request

ROOT: Final = "/dashboard"
COOKIE: Final = "homeostat_dashboard"
LONGEST_TOKEN: Final = 3800
"""Browsers keep cookies of 4096 bytes, with their names and all."""
_is_token = re.compile(r"[A-Za-z0-9._~+/=-]+").fullmatch
_is_place = re.compile(rf"{ROOT}(?:[/?][A-Za-z0-9/?&=%._~+-]*)?").fullmatch
_PURPOSE: Final = b"homeostat dashboard forms"


def is_token(text: str) -> bool:
    """Whether it can be one at all, and fits into a cookie."""
    return len(text) <= LONGEST_TOKEN and _is_token(text) is not None


def kept_token(request: Request) -> str:
    """Empty where there is none."""
    for each in request.headers.get("cookie", "").split(";"):
        name, _, value = each.strip().partition("=")
        if name == COOKIE and is_token(value):
            return value
    return ""


def with_token(request: Request, token: str) -> Request:
    """The request as a caller of the REST API would make it."""
    if not token or "authorization" in request.headers:
        return request
    headers = Headers()
    headers.update(request.headers)
    headers["authorization"] = f"Bearer {token}"
    return msgspec.structs.replace(request, headers=headers)


def keeping(request: Request, token: str) -> tuple[str, str]:
    """The header that has the browser keep it, until it is closed; or, where it is empty, forget it."""
    secure = "; Secure" if request.peer.is_tls else ""
    ended = "" if token else "; Max-Age=0"
    return "Set-Cookie", f"{COOKIE}={token}; Path={ROOT}; HttpOnly; SameSite=Strict{secure}{ended}"


def form_proof(secret: bytes, token: str) -> str:
    """What a form of ours carries: nobody who lacks the token can say it, and without a token nobody who lacks the
    secret of this process.
    """
    return hmac.new(token.encode() or secret, _PURPOSE, "sha256").hexdigest()


def is_own_page(request: Request) -> bool:
    """Whether what sends a form is a page of this server, as far as the browser tells."""
    origin, host = request.headers.get("origin"), request.headers.get("host", "")
    if origin is not None:
        scheme = "https" if request.peer.is_tls else "http"
        # What stands before us may speak TLS on our behalf.
        return origin.lower() in (f"{scheme}://{host}".lower(), f"https://{host}".lower())
    return request.headers.get("sec-fetch-site", "same-origin") == "same-origin"


def place_of(text: str) -> str:
    """Where to go after a login: a page of ours, whatever was asked."""
    return text if _is_place(text) and "//" not in text else ROOT

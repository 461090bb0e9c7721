"""How a request authenticates: with a password, a token, headers, or a token that an OAuth2 server issues.

A client certificate belongs to the connection: `Request.tls` or `RestSettings.tls`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from homeostat.external.secrets.credentials import BasicAuth, BearerToken


@dataclass(frozen=True, slots=True)
class HeaderAuth:
    """Headers with credentials in them, such as `PRIVATE-TOKEN`."""

    headers: Mapping[str, str] = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class OAuth2:
    """Client credentials (RFC 6749, 4.4). `sends` selects how the client authenticates: basic auth or form fields."""

    token_url: str
    client_id: str
    client_secret: str = field(repr=False)
    scope: str = ""
    audience: str = ""
    sends: Literal["basic", "form"] = "basic"
    username: str = ""
    """With it, the grant is that of a user's password (RFC 6749, 4.3)."""
    password: str = field(default="", repr=False)


Auth = BasicAuth | BearerToken | HeaderAuth | OAuth2


def auth_headers(auth: BasicAuth | BearerToken | HeaderAuth | None) -> Mapping[str, str]:
    match auth:
        case None:
            return {}
        case HeaderAuth(headers):
            return headers
        case BasicAuth() | BearerToken():
            return {"Authorization": auth.header}

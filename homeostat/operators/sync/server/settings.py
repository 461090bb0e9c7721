"""Where a managed server is, how to authenticate there, and how fast it may be asked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from homeostat.edge.proxies import Proxies
from homeostat.external.rest.auth import Auth
from homeostat.external.secrets.credentials import TlsCredentials

CONCURRENT: Final = 50
"""Requests of one sync at a time, unless the server allows fewer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Throttle:
    """0 means no limit. `queue` limits the requests that wait; one more is refused at once."""

    concurrent: int = 0
    queue: int = 0
    per_s: float = 0.0
    burst: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerSettings:
    url: str
    auth: Auth | None = None
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    health_check: str = ""
    tls: TlsCredentials | None = None
    proxies: Proxies = field(default_factory=Proxies)
    throttle: Throttle = Throttle()
    timeout_s: float = 30.0

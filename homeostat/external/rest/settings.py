"""Settings of a client: limits, retries, circuit breaker, proxies, and the addresses that it may connect to."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from homeostat.edge.proxies import Proxies
from homeostat.external.rest.breaker import BreakerPolicy
from homeostat.external.rest.rate import RatePolicy
from homeostat.external.rest.retry import NO_RETRY, RetryPolicy
from homeostat.external.secrets.credentials import TlsCredentials


@dataclass(frozen=True, slots=True, kw_only=True)
class RestSettings:
    allows_private: bool = True
    """Whether to connect to loopback and private networks. Link-local addresses and metadata services are refused."""
    tls: TlsCredentials | None = None
    """Trusted authorities and client certificate; by default the system's authorities and no certificate."""
    proxies: Proxies = field(default_factory=Proxies)
    connect_s: float = 10.0
    connections: int = 100
    connections_per_host: int = 16
    """More requests to one host wait for a free connection."""
    header_bytes: int = 16 << 10
    """The limit of one header; at most 100 headers are read."""
    rate: RatePolicy | None = None
    """The limit on requests per second to one host; by default there is none."""
    retry: RetryPolicy = NO_RETRY
    breaker: BreakerPolicy | None = field(default_factory=BreakerPolicy)


@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    """Where time and randomness come from."""

    seconds: Callable[[], float] = lambda: asyncio.get_running_loop().time()
    """A monotonic clock."""
    wall_s: Callable[[], float] = time.time
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    chance: Callable[[], float] = random.random

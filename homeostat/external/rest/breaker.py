"""A circuit breaker for each host: after several failures in a row nobody waits for that host for a while. Pure.

closed -> open after `failures` in a row -> half-open after `open_s`: one request goes through; if it succeeds the
breaker closes, else it opens again. The time is passed in. Only hosts that failed are remembered.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)

_MOST_HOSTS = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class BreakerPolicy:
    failures: int = 5
    open_s: float = 30.0

    def __post_init__(self) -> None:
        if self.failures < 1 or self.open_s <= 0:
            raise ValueError(f"{self}: expected failures >= 1 and open_s > 0")


@dataclass(slots=True)
class _State:
    failures: int = 0
    opens_until: float | None = None
    is_probed: bool = False


class CircuitBreaker(Generic[K]):
    """Each `admit` that returns 0 is followed by one of `succeeded`, `failed` or `released`."""

    def __init__(self, policy: BreakerPolicy) -> None:
        self._policy = policy
        self._states: dict[K, _State] = {}

    def __len__(self) -> int:
        return len(self._states)

    def admit(self, host: K, now: float) -> float:
        """0.0 if a request may go; otherwise the seconds until the next probe."""
        state = self._states.get(host)
        if state is None or state.opens_until is None:
            return 0.0
        if now < state.opens_until:
            return state.opens_until - now
        if state.is_probed:
            return self._policy.open_s
        state.is_probed = True
        return 0.0

    def half_open(self, host: K, now: float) -> None:
        """There is a reason to believe that the host answers again: the next request goes through as a probe."""
        state = self._states.get(host)
        if state is not None and state.opens_until is not None:
            state.opens_until = min(state.opens_until, now)

    def hosts(self) -> list[K]:
        """Those that failed."""
        return list(self._states)

    def succeeded(self, host: K) -> None:
        self._states.pop(host, None)

    def failed(self, host: K, now: float) -> None:
        if len(self._states) >= _MOST_HOSTS and host not in self._states:
            self._states.clear()
        state = self._states.setdefault(host, _State())
        state.failures, state.is_probed = state.failures + 1, False
        if state.failures >= self._policy.failures:
            state.opens_until = now + self._policy.open_s

    def released(self, host: K) -> None:
        """The request was given up by its caller: it says nothing about the host."""
        if (state := self._states.get(host)) is not None:
            state.is_probed = False

"""What simulated Pods use, from annotations: `cpu=80%,memory=100Mi,requests=30`. Pure.

A percentage is of what the Pod requests. The annotation of a Pod says what it uses; that of the target of an autoscaler
says what all of its ready Pods use together, or the value of a metric that is not of Pods.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final

import msgspec

from homeostat.objects.quantity import Quantity, QuantityError
from homeostat.operators.workloads.api import Pod
from homeostat.operators.workloads.sizes import integer_of

MOST_METRICS: Final = 50
LONGEST: Final = 4096
_LARGEST: Final = 10**18


class UseError(ValueError):
    """The annotation is invalid: says what is expected."""


class Use(msgspec.Struct, frozen=True):
    """Of one metric."""

    milli: int = 0
    percent: int | None = None

    def of(self, request_milli: int) -> int:
        """In thousandths; what is requested counts for a percentage."""
        return self.milli if self.percent is None else request_milli * self.percent // 100


def parse_use(text: str) -> dict[str, Use]:
    found: dict[str, Use] = {}
    if len(text) > LONGEST:
        raise UseError(f"expected at most {LONGEST} characters as cpu=80%,memory=100Mi, got {len(text)}")
    for part in filter(None, text.split(",")):
        name, _, value = part.strip().partition("=")
        if not name or len(found) >= MOST_METRICS:
            raise UseError(f"expected at most {MOST_METRICS} metrics as cpu=80%,memory=100Mi, got {part[:64]!r}")
        found[name.strip()] = _use(name, value.strip())
    return found


def _use(name: str, text: str) -> Use:
    percent = integer_of(text.removesuffix("%")) if text.endswith("%") else None
    if percent is not None and percent >= 0:
        return Use(percent=min(percent, _LARGEST))
    try:
        return Use(milli=milli_of(text))
    except QuantityError:
        raise UseError(f"{name[:64]}: expected a quantity or a percentage, got {text[:64]!r}") from None


def milli_of(value: object) -> int:
    """Thousandths, rounded up; `QuantityError`."""
    return _milli(str(value))


@lru_cache(maxsize=4096)
def _milli(text: str) -> int:
    """Thousands of Pods have a few different requests."""
    return min(max(-(-Quantity.parse(text).nanos // 1_000_000), 0), _LARGEST)


def request_of(pod: Pod, name: str) -> int | None:
    """What the containers of a Pod request, in thousandths; None if one requests nothing."""
    total = 0
    sidecars = (each for each in pod.spec.init_containers if each.restart_policy == "Always")
    for container in (*pod.spec.containers, *sidecars):
        value = container.resources.requests.get(name)
        if value is None:
            return None
        total += milli_of(value)
    return total


def milli_text(milli: int) -> str:
    return str(milli // 1000) if milli % 1000 == 0 else f"{milli}m"

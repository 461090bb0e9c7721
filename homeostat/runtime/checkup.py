"""What `homeostat doctor` finds: one finding a check.

The module of an operator may declare checks of its own, as `CHECKS`: references (`package.module:name`) to functions
that take a `Client` and return findings. They only read.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Literal

import msgspec

from homeostat.client.base import Client

Result = Literal["OK", "WARN", "FAIL", "SKIPPED"]


class Finding(msgspec.Struct, frozen=True):
    """`remedy` says what to do about it; empty if there is nothing to do."""

    check: str
    result: Result
    detail: str
    remedy: str = ""


Check = Callable[[Client], Awaitable[Sequence[Finding]]]

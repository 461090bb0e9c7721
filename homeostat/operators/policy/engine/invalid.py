"""Why a policy is invalid: a value, so that an invalid policy is reported and the others are still evaluated."""

from __future__ import annotations

import msgspec


class Fault(msgspec.Struct, frozen=True):
    """`reason` is that of the condition, `path` the field of the spec."""

    reason: str
    path: str
    message: str

    def __str__(self) -> str:
        return f"{self.path}: {self.message}"


class PolicyFaultError(Exception):
    """Raised while a policy is compiled."""

    def __init__(self, reason: str, path: str, message: str) -> None:
        super().__init__(message)
        self.fault = Fault(reason, path, message)

"""Specs with variables of the operator's environment in place of `${NAME}`. Pure: the environment is passed in.

Only a string that is `${NAME}` as a whole is replaced, and only at run time: the stored object keeps it. A variable
that is not set is empty. Variables of Homeostat itself are not readable: whoever may declare a server could have them
sent there.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, TypeVar

import msgspec

from homeostat.operators.sync.context.document import expanded

S = TypeVar("S", bound=msgspec.Struct)
_OWN: Final = ("HOMEOSTAT_", "KUBERNETES_")
_SECRET: Final = ("_WEBHOOK_SECRET", "JWT_SECRET", "DATABASE_URL")


def readable(environment: Mapping[str, str]) -> dict[str, str]:
    return {key: value for key, value in environment.items() if not key.startswith(_OWN) and not key.endswith(_SECRET)}


def expand(spec: S, environment: Mapping[str, str]) -> S:
    """`msgspec.ValidationError` if a field is invalid with the value of its variable."""
    plain = msgspec.to_builtins(spec)
    found = expanded(plain, environment)
    return spec if found == plain else msgspec.convert(found, type(spec))

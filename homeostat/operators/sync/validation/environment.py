"""Specs with variables of the operator's environment in place of `${NAME}`. Pure: the environment is passed in.

Only a string that is `${NAME}` as a whole is replaced, and only at run time: the stored object keeps it. A variable
that is not set is empty. Variables of Homeostat itself are not readable, nor any whose name or value looks like a
credential: whoever may declare a server could have them sent there. Credentials are given as Secrets.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final, TypeVar

import msgspec

from homeostat.operators.sync.context.document import expanded

S = TypeVar("S", bound=msgspec.Struct)
_OWN: Final = ("HOMEOSTAT_", "KUBERNETES_")
_names_credential = re.compile(
    r"TOKEN|SECRET|PASSW|PASSPHRASE|ASKPASS|CREDENTIAL|PRIVATE|COOKIE|SESSION|DATABASE_URL|DSN"
    r"|APIKEY|(?:_|^)(?:KEYS?|PASS|PWD|PAT|AUTH|AUTHORIZATION)(?:_|$)",
    re.IGNORECASE,
).search
_holds_credential = re.compile(r"://[^/@\s]*@|-----BEGIN ").search


def readable(environment: Mapping[str, str]) -> dict[str, str]:
    """Those that specs may use, and those of proxies, which the operator uses itself."""
    return {
        key: value
        for key, value in environment.items()
        if _is_proxy(key)
        or not (key.startswith(_OWN) or _names_credential(key) is not None or _holds_credential(value) is not None)
    }


def _is_proxy(name: str) -> bool:
    return name.lower().endswith("_proxy")


def expand(spec: S, environment: Mapping[str, str]) -> S:
    """`msgspec.ValidationError` if a field is invalid with the value of its variable."""
    plain = msgspec.to_builtins(spec)
    found = expanded(plain, {key: value for key, value in environment.items() if not _is_proxy(key)})
    return spec if found == plain else msgspec.convert(found, type(spec))

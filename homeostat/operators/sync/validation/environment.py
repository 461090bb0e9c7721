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
    r"TOKEN|SECRET|PASSW|PASSPHRASE|ASKPASS|CREDENTIAL|PRIVATE|COOKIE|SESSION|DATABASE_URL|DSN|CONNECTION_?STRING"
    r"|JWT|BEARER|WEBHOOK|SALT|HMAC|(?:API|ACCESS|ACCOUNT|APP|MASTER|SIGNING|SSH)KEY|(?:PASS|PW)(?:_|$)"
    r"|(?:_|^)(?:KEYS?|PWD|PAT|SAS|AUTH|AUTHORIZATION)(?:_|$)",
    re.IGNORECASE,
).search
_holds_credential = re.compile(
    # A password in a URL may hold a slash.
    r"://[^@\s]*@|-----BEGIN |://hooks\.slack\.com/"
    r"|^(?i:bearer|basic|token) +\S+$"
    r"|(?:^|[\s;?&])(?i:password|pwd|(?:shared)?(?:access|account)_?key|api_?key|(?:\w+_)?token|secret|sig)="
    # JSON in base64, such as a JWT, and the prefixes that issuers give to their tokens.
    r"|\beyJ[\w-]{8}|\bgh[oprsu]_\w{8}|\bgithub_pat_|\bgl(?:agent|cbt|dt|pat|ptt|rt|soat)-|\bxox[a-z]-|\bxapp-\d"
    r"|\bA[KS]IA[A-Z0-9]{12}|\bhv[bsr]\.\w|\bAIza[\w-]{20}|\bya29\.|\b[rs]k_live_|\bnpm_\w{20}|\bpypi-\w{20}"
).search


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

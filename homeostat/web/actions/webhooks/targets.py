"""Which addresses a webhook may have: public ones, and private ones only if the server's environment allows it.

Otherwise a webhook could make the server call what only the server can reach: its own machine, its network, the cloud's
metadata service. The URL is checked at registration, and the address again when a connection is opened
(`external/addresses.py`). Redirects are not followed.
"""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import urlsplit

from homeostat.external.addresses import PrivateUrlError, UrlError, check_url

ALLOW_PRIVATE = "HOMEOSTAT_HOOKS_ALLOW_PRIVATE"


def allows_private(environment: Mapping[str, str]) -> bool:
    return environment.get(ALLOW_PRIVATE, "") == "1"


def check_target(url: str, *, is_private_allowed: bool) -> None:
    """Raises `UrlError` if no webhook may be at this URL."""
    try:
        check_url(url, allows_private=is_private_allowed)
    except PrivateUrlError as error:
        raise UrlError(f"{error}; {ALLOW_PRIVATE}=1 in the environment allows that") from error
    if "@" in urlsplit(url).netloc:
        raise UrlError("the URL must not contain credentials: everyone who can list webhooks would see them")

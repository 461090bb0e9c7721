"""Where a webhook may be: on the public network, and elsewhere only where the owner of this server says so.

Whoever may register a webhook could otherwise have the server call what only the server can reach: its own machine, its
neighbours, the cloud's metadata service. A URL is checked when it is given, and the address again when a connection
goes there (`external/rest/addresses.py`). Redirects are not followed.
"""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import urlsplit

from homeostat.external.rest.addresses import PrivateUrlError, UrlError, check_url

ALLOW_PRIVATE = "HOMEOSTAT_HOOKS_ALLOW_PRIVATE"


def allows_private(environment: Mapping[str, str]) -> bool:
    return environment.get(ALLOW_PRIVATE, "") == "1"


def check_target(url: str, *, is_private_allowed: bool) -> None:
    """`UrlError` says why no webhook may be there."""
    try:
        check_url(url, allows_private=is_private_allowed)
    except PrivateUrlError as error:
        raise UrlError(f"{error}; {ALLOW_PRIVATE}=1 in the environment allows that") from error
    if "@" in urlsplit(url).netloc:
        raise UrlError("the URL must not contain credentials: everyone who can list webhooks would see them")

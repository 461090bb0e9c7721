"""The host and the path of a repository, however its URL is written. Pure."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final
from urllib.parse import urlsplit

_scp = re.compile(r"(?:[^@/]+@)?([^:/]+):(.+)").fullmatch
_LONGEST_KEPT: Final = 500
"""A webhook may have URLs of a megabyte."""


def origin_of(url: str) -> tuple[str, str]:
    """`git@github.com:acme/shop.git` and `https://github.com/acme/shop` are `github.com` and `acme/shop`."""
    return _kept(url) if len(url) <= _LONGEST_KEPT else _read(url)


def _read(url: str) -> tuple[str, str]:
    if "://" not in url and (found := _scp(url)):
        host, path = found[1], found[2]
    else:
        try:
            parts = urlsplit(url)
        except ValueError:
            return "", ""
        host, path = parts.hostname or "", parts.path
    return host.lower(), path.strip("/").removesuffix(".git")


_kept = lru_cache(maxsize=4096)(_read)

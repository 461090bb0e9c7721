"""Which hosts and repositories may be used: a list of patterns, by the owner of the operator or of a Secret. Pure.

A pattern is `HOST`, `HOST:PORT` or either with `/PATH`, and `*` stands for any characters but a slash:
`github.com/acme`, `*.example.org`, `git.example.org:2222`. Without a port it is the protocol's own, and `:*` is any. A
path includes all below it. What cannot be read for sure, such as a path with `..`, matches nothing.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple
from urllib.parse import urlsplit

import msgspec

from homeostat.objects.memory.cache import cached
from homeostat.objects.views.image import parse_image

_MOST: Final = 256
_LONGEST: Final = 16_384
_PORTS: Final = {"ssh": 22, "http": 80, "https": 443}
_scp = re.compile(r"(?:[A-Za-z0-9._-]+@)?([A-Za-z0-9][A-Za-z0-9._-]*):(?!/)(\S+)", re.ASCII).fullmatch
_is_host = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?|\[[0-9A-Fa-f:.]+\]", re.ASCII).fullmatch
_is_path = re.compile(r"[A-Za-z0-9._~+@-]+(?:/[A-Za-z0-9._~+@-]+)*", re.ASCII).fullmatch
_pattern = re.compile(
    r"(?P<host>[A-Za-z0-9.*_-]+|\[[0-9A-Fa-f:.]+\])(?::(?P<port>[0-9]{1,5}|\*))?(?:/(?P<path>[A-Za-z0-9._~+@*/-]*))?",
    re.ASCII,
).fullmatch


class HostsError(ValueError):
    """A pattern is invalid."""


class Place(NamedTuple):
    """A repository, or what else is on a host."""

    host: str
    port: str
    """Empty for the protocol's own."""
    path: str

    def __str__(self) -> str:
        return f"{self.host}{self.port and f':{self.port}'}{self.path and f'/{self.path}'}"


class Hosts(msgspec.Struct, frozen=True):
    patterns: tuple[str, ...]

    def allow(self, place: Place) -> bool:
        return any(_matches(each, place) for each in self.patterns)


def parse_hosts(text: str) -> Hosts:
    """Patterns, separated by commas or white space."""
    found = tuple(text.replace(",", " ").split())
    if len(found) > _MOST or len(text) > _LONGEST:
        raise HostsError(f"expected at most {_MOST} patterns of hosts in {_LONGEST} characters")
    for each in found:
        if _pattern(each) is None:
            raise HostsError(f"{each[:100]!r} is not a pattern; expected HOST[:PORT][/PATH], such as github.com/acme")
    return Hosts(found)


def place_of_url(url: str, *, is_path_needed: bool = True) -> Place | None:
    """Where a repository or a webhook is; None if the URL leaves that open."""
    if short := _scp(url):
        return _place(short[1], "", short[2])
    try:
        parts = urlsplit(url)
        port = "" if parts.port in (None, _PORTS.get(parts.scheme)) else str(parts.port)
    except ValueError:
        return None
    is_plain = parts.scheme in _PORTS and url.isascii() and url.isprintable() and not set(" \\") & set(url)
    if not is_plain or (parts.username is not None and parts.scheme != "ssh"):
        return None
    host = parts.hostname or ""
    host = f"[{host}]" if ":" in host else host
    found = _place(host, port, parts.path)
    return found if found is not None or is_path_needed else _place(host, port, "")


def place_of_image(image: str) -> Place | None:
    parsed = parse_image(image)
    host, colon, port = parsed.registry.rpartition(":")
    if not colon or parsed.registry.endswith("]"):
        host, port = parsed.registry, ""
    return _place(host, port, parsed.path) if port.isdecimal() or not port else None


def matches_name(pattern: str, name: str) -> bool:
    """Whether a namespace is one of a pattern's."""
    return _regex(pattern).fullmatch(name) is not None


def _place(host: str, port: str, path: str) -> Place | None:
    path = path.strip("/").removesuffix(".git")
    is_plain = not path or (_is_path(path) and not any(set(each) <= {"."} for each in path.split("/")))
    if not _is_host(host) or not is_plain:
        return None
    return Place(host.lower(), port, path)


def _matches(pattern: str, place: Place) -> bool:
    parts = _pattern(pattern)
    if parts is None or not _regex(parts["host"].lower()).fullmatch(place.host):
        return False
    if parts["port"] != "*" and (parts["port"] or "") != place.port:
        return False
    wanted = [each for each in (parts["path"] or "").removesuffix(".git").split("/") if each]
    given = place.path.split("/") if place.path else []
    return len(given) >= len(wanted) and all(
        _regex(want).fullmatch(have) for want, have in zip(wanted, given, strict=False)
    )


@cached(1024)
def _regex(pattern: str) -> re.Pattern[str]:
    first, *rest = map(re.escape, pattern.split("*"))
    if not rest:
        return re.compile(first)
    *between, last = rest
    # The first place where a part matches is as good as any later one: without the groups, stars take exponential time.
    return re.compile(f"{first}{''.join(f'(?>[^/]*?{each})' for each in between if each)}[^/]*{last}")

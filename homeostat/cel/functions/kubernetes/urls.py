"""URLs, read as Go reads a request's: an absolute URI or an absolute path."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, unquote_plus

from homeostat.cel.errors import EvaluationError, shown
from homeostat.cel.functions.kubernetes.parsing import parse_cost, parses
from homeostat.cel.registry import Overload, function, member
from homeostat.cel.values import Opaque

_LONGEST = 64 * 1024
"""The most characters of a URL. More are invalid here: its patterns take as long as the text is, each time."""
_SCHEME = re.compile(r"([a-zA-Z][a-zA-Z0-9+.-]*):")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_BAD_ESCAPE = re.compile(r"%(?![0-9a-fA-F]{2})")
_USER = re.compile(r"[A-Za-z0-9\-._:~!$&'()*+,;=%@]*\Z")
_HOST = re.compile(r"(?:\[[^\[\]@/]*\]|[^\[\]:]*)(?::[0-9]*)?\Z")
_HOST_BAD = re.compile(r"[^A-Za-z0-9\-._~!$&'()*+,;=:\[\]<>\"%\x80-\U0010ffff]")
_PATH_PLAIN = re.compile(r"(?:[A-Za-z0-9\-._~!$&'()*+,;=:@\[\]/]|%[0-9a-fA-F]{2})*\Z")


@dataclass(frozen=True, slots=True)
class Url(Opaque):
    scheme: str
    host: str
    path: str
    query: str
    cel_type_name = "kubernetes.URL"

    def hostname(self) -> str:
        if self.host.startswith("["):
            return self.host[1 : self.host.index("]")]
        return self.host.rpartition(":")[0] if ":" in self.host else self.host

    def port(self) -> str:
        rest = self.host[self.host.find("]") + 1 :] if self.host.startswith("[") else self.host
        return rest.rpartition(":")[2] if ":" in rest else ""

    def escaped_path(self) -> str:
        """As written where that is valid, else escaped again."""
        if _PATH_PLAIN.match(self.path):
            return self.path
        return quote(unquote_to_text(self.path), safe="$&+,/:;=@~")

    def parameters(self) -> dict[str, list[str]]:
        """The query's values by name; pairs that cannot be read are left out, as Go does."""
        found: dict[str, list[str]] = {}
        for pair in self.query.split("&"):
            if pair and ";" not in pair and not _BAD_ESCAPE.search(pair):
                name, _, value = pair.partition("=")
                found.setdefault(unquote_plus(name), []).append(unquote_plus(value))
        return found


def unquote_to_text(text: str) -> str:
    return unquote_plus(text.replace("+", "%2B"))


class UrlError(EvaluationError):
    """`complaint` is Go's own, without what the conversion puts before it."""

    def __init__(self, text: str, reason: str) -> None:
        self.complaint = f'parse "{shown(text)}": {reason}'
        super().__init__(f"URL parse error during conversion from string: {self.complaint}")


def parse_url(text: str) -> Url:
    def fail(reason: str) -> UrlError:
        return UrlError(text, reason)

    if not text:
        raise fail("empty url")
    if len(text) > _LONGEST:
        raise fail(f"longer than {_LONGEST} characters")
    if _CONTROL.search(text):
        raise fail("net/url: invalid control character in URL")
    rest = text.partition("#")[0]
    scheme = ""
    if found := _SCHEME.match(rest):
        scheme, rest = found[1].lower(), rest[found.end() :]
    elif rest.startswith(":"):
        raise fail("missing protocol scheme")
    rest, _, query = rest.partition("?")
    if not rest.startswith("/"):
        if scheme and rest:
            return Url(scheme, "", "", query)
        raise fail("invalid URI for request")
    host = ""
    if scheme and rest.startswith("//"):
        authority, slash, path = rest[2:].partition("/")
        host, rest = _host(authority, fail), slash + path
    if _BAD_ESCAPE.search(rest):
        raise fail("invalid URL escape")
    return Url(scheme, host, rest, query)


def _host(authority: str, fail: Any) -> str:
    user, at, host = authority.rpartition("@")
    if at and (not _USER.match(user) or _BAD_ESCAPE.search(user)):
        raise fail("net/url: invalid userinfo")
    if not _HOST.match(host):
        raise fail(f'invalid port or brackets in host "{shown(host)}"')
    if (bad := _HOST_BAD.search(host)) or (bad := re.search(r"%(?![89a-fA-F][0-9a-fA-F])", host)):
        raise fail(f'invalid character "{bad[0]}" in host name')
    return unquote_to_text(host)


def _unknown(*_: int) -> int:
    return 0


URLS: tuple[Overload, ...] = (
    function("url(string) -> kubernetes.URL", parse_url, parse_cost),
    function("isURL(string) -> bool", parses(parse_url), parse_cost),
    member("kubernetes.URL.getScheme() -> string", lambda url: url.scheme),
    member("kubernetes.URL.getHost() -> string", lambda url: url.host),
    member("kubernetes.URL.getHostname() -> string", Url.hostname),
    member("kubernetes.URL.getPort() -> string", Url.port),
    member("kubernetes.URL.getEscapedPath() -> string", Url.escaped_path, lambda url: len(url.path), estimate=_unknown),
    member(
        "kubernetes.URL.getQuery() -> map(string, list(string))",
        Url.parameters,
        lambda url: 4 * len(url.query),
        estimate=_unknown,
    ),
)

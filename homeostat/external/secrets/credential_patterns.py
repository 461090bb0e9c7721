"""Texts that look like a credential, removed from texts of others, in which the secrets are not known. Pure.

Recognised are PEM and single lines of it, JSON Web Tokens, the tokens of well-known services, what follows `Bearer` and
`Basic`, credentials and parameters of URLs, addresses of chats that are secret as a whole, `-u user:password`, and what
is assigned to the name of a secret: `password=...`. The time is in proportion to the length of the text.
"""

from __future__ import annotations

import re
from typing import Final

from homeostat.external.secrets.scrub import HIDDEN, scrub_urls

NAMES: Final = (
    "pass(?:word|wd|phrase)?|secret|token|api[_-]?key|access[_-]?key|private[_-]?key|credentials?|authorization"
)
"""A pattern of the names of secrets."""
_PEM: Final = re.compile(r"-----BEGIN [A-Z ]{1,40}-----.*?(?:-----END [A-Z ]{1,40}-----|\Z)", re.DOTALL)
# The end of a log may begin within one, and a program may print a line of one alone: 64 characters in base64.
_PEM_END: Final = re.compile(r"\A[A-Za-z0-9+/=\s]*-----END [A-Z ]{1,40}-----")
_PEM_LINE: Final = re.compile(
    r"(?<![\w+/=.-])(?=[A-Za-z0-9+/]{64})(?=[^a-z]{0,63}[a-z])(?=[^A-Z]{0,63}[A-Z])(?=[^0-9]{0,63}[0-9])"
    r"[A-Za-z0-9+/]{64,}={0,2}"
)
# In quotes, in the escaped quotes of JSON within JSON, or up to the next separator.
_VALUE: Final = r"""(?:"(?:[^"\\\n]|\\.)*"?|\\+"[^"\n]*"?|'[^'\n]*'?|[^\s,;&"'\\][^\s,;&"']*)"""
_NAMED: Final = re.compile(
    rf"""((?:{NAMES})[\w-]{{0,100}}\\{{0,8}}["']?\s{{0,3}}[=:]\s{{0,3}})(?:(?:Bearer|Basic|token)\s+)?{_VALUE}""",
    re.IGNORECASE,
)
_SPOKEN: Final = re.compile(
    rf"((?:(?<!\S)--?[\w-]{{0,40}}(?:{NAMES})[\w-]{{0,40}}|\bpass(?:word|wd|phrase)\s{{1,3}}is)\s{{1,3}})(?!-){_VALUE}",
    re.IGNORECASE,
)
_QUERY: Final = re.compile(r"([?&](?:code|key|sig|signature|state)=)[^\s&\"']+", re.IGNORECASE)
_BEARER: Final = re.compile(r"\b(Bearer|Basic)\s+[\w.~+/=-]{6,}", re.IGNORECASE)
_HOOK: Final = re.compile(
    r"(\bhttps?://(?:hooks\.slack(?:-gov)?\.com/\w{1,20}/|(?:\w{1,20}\.)?discord(?:app)?\.com/api/webhooks/"
    r"|[\w-]{1,60}\.webhook\.office\.com/))[^\s\"'<>]+",
    re.IGNORECASE,
)
_USER: Final = re.compile(r"((?<!\S)(?:-u|--user|--proxy-user)(?:\s{1,3}|=)[\"']?[^\s:\"'/]{1,100}:)[^\s\"']+")
_DOTTED: Final = re.compile(r"(?<![\w-])[\w-]++(?>(?:\.[\w-]++){2,})")
_JWT: Final = re.compile(r"\beyJ[\w-]{6}")
_SHORTEST_PART: Final = 6
_TOKENS: Final = re.compile(
    r"\b(?:"
    r"hst-[0-9a-f]{6,}-[0-9a-f]{16,}"  # tokens of a plane
    r"|gh[pousr]_\w{20,}|github_pat_\w{20,}|glpat-[\w-]{16,}|xox[abpr]-[\w-]{10,}"
    r"|hvs\.[\w-]{16,}|A(?:KIA|SIA)[0-9A-Z]{12,}"
    r")"
)


def scrub_shapes(text: str) -> str:
    text = _PEM_LINE.sub(HIDDEN, _PEM_END.sub(HIDDEN, _PEM.sub(HIDDEN, scrub_urls(text))))
    text = _USER.sub(rf"\1{HIDDEN}", _HOOK.sub(rf"\1{HIDDEN}", _QUERY.sub(rf"\1{HIDDEN}", text)))
    text = _DOTTED.sub(_without_jwt, _BEARER.sub(rf"\1 {HIDDEN}", text))
    return _SPOKEN.sub(rf"\1{HIDDEN}", _NAMED.sub(rf"\1{HIDDEN}", _TOKENS.sub(HIDDEN, text)))


def _without_jwt(found: re.Match[str]) -> str:
    """A JSON Web Token has three parts. It may stand after others, and so may others after it."""
    parts = found[0].split(".")
    for at in range(len(parts) - 2):
        start = _JWT.search(parts[at])
        if start is not None and min(map(len, parts[at + 1 : at + 3])) >= _SHORTEST_PART:
            return ".".join([*parts[:at], parts[at][: start.start()] + HIDDEN])
    return found[0]

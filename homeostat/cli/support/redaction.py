"""Removes secrets from the texts of a support bundle.

Two ways, because texts of others (logs, messages of conditions and Events) may contain anything: values that are known
to be secret, in all the encodings that programs print, and whatever looks like a credential.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable, Mapping
from typing import Final

from homeostat.client.base import Client
from homeostat.external.secrets.scrub import HIDDEN, Scrubber
from homeostat.objects.errors import ApiError
from homeostat.objects.json import Json, JsonObject
from homeostat.objects.kind import SECRET

MOST_SECRETS: Final = 500
"""Secret objects whose values are looked for."""
_LONGEST: Final = 4096
"""Longer values are keys, certificates and archives, of which PEM is recognised by its form."""
_PEM: Final = re.compile(r"-----BEGIN [A-Z ]{1,40}-----.*?(?:-----END [A-Z ]{1,40}-----|\Z)", re.DOTALL)
_WORDS: Final = (
    "pass(?:word|wd|phrase)?|secret|token|api[_-]?key|access[_-]?key|private[_-]?key|credentials?|authorization"
)
_NAMED: Final = re.compile(
    rf"""((?:{_WORDS})\w{{0,20}}["']?\s{{0,3}}[=:]\s{{0,3}})(?:(?:Bearer|Basic|token)\s+)?("[^"\n]*"|'[^'\n]*'|[^\s,;&"']+)""",
    re.IGNORECASE,
)
_QUERY: Final = re.compile(r"([?&](?:code|key|sig|signature|state)=)[^\s&\"']+", re.IGNORECASE)
_BEARER: Final = re.compile(r"\b(Bearer|Basic)\s+[\w.~+/=-]{6,}", re.IGNORECASE)
_TOKENS: Final = re.compile(
    r"\b(?:"
    r"eyJ[\w-]{6,}\.[\w-]{6,}\.[\w-]{6,}"  # JSON Web Tokens
    r"|hst-[0-9a-f]{6,}-[0-9a-f]{16,}"  # tokens of a plane
    r"|gh[pousr]_\w{20,}|github_pat_\w{20,}|glpat-[\w-]{16,}|xox[abpr]-[\w-]{10,}"
    r"|hvs\.[\w-]{16,}|A(?:KIA|SIA)[0-9A-Z]{12,}"
    r")"
)
_IS_SECRET_NAME: Final = re.compile(rf"(?:{_WORDS}|_KEY$)", re.IGNORECASE)


class Redactor:
    def __init__(self) -> None:
        self._scrubber = Scrubber()

    def hide(self, values: Iterable[str]) -> None:
        for each in values:
            if len(each) <= _LONGEST:
                self._scrubber.hide(each)

    def hide_environment(self, environment: Mapping[str, str]) -> None:
        self.hide(value for name, value in environment.items() if _IS_SECRET_NAME.search(name))

    async def hide_secrets(self, client: Client) -> str:
        """The values of Secrets that the caller may read; says how many, or why none."""
        try:
            page = await client.request("GET", SECRET.path(""), {"limit": MOST_SECRETS})
        except ApiError as error:
            return f"the values of Secrets are not known, so only their forms are removed: {error.message}"
        for each in page["items"]:
            self.hide(_values(each))
        return f"the values of {len(page['items'])} Secrets are removed wherever they appear"

    def text(self, text: str) -> str:
        text = _PEM.sub(HIDDEN, self._scrubber.scrub(text))
        text = _QUERY.sub(rf"\1{HIDDEN}", text)
        text = _TOKENS.sub(HIDDEN, _BEARER.sub(rf"\1 {HIDDEN}", text))
        return _NAMED.sub(rf"\1{HIDDEN}", text)

    def json(self, value: Json) -> Json:
        """Each text alone; keys are names."""
        match value:
            case str():
                return self.text(value)
            case dict():
                return {key: self.json(each) for key, each in value.items()}
            case list() | tuple():
                return [self.json(each) for each in value]
            case _:
                return value


def _values(secret: JsonObject) -> Iterable[str]:
    for each in (secret.get("data") or {}).values():
        try:
            text = base64.b64decode(each).decode()
        except ValueError:
            continue
        if "-----BEGIN" not in text:
            yield text

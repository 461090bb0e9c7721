"""Removes secrets from the texts of a support bundle.

Two ways, because texts of others (logs, messages of conditions and Events) may contain anything: values that are known
to be secret, in all the encodings that programs print, and whatever looks like a credential.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

import msgspec

from homeostat.client.base import Client
from homeostat.external.secrets.credential_patterns import NAMES, scrub_shapes
from homeostat.external.secrets.scrub import Scrubber
from homeostat.objects.errors import ApiError
from homeostat.objects.json import Json, JsonObject
from homeostat.objects.kind import SECRET

MOST_SECRETS: Final = 2000
"""Secret objects whose values are looked for."""
_PAGE: Final = 500
_LONGEST: Final = 4096
"""Longer values are keys, certificates and archives, of which PEM is recognised by its form."""
_SHORTEST_PART: Final = 8
"""Of a document; shorter ones are often common words."""
_IS_SECRET_NAME: Final = re.compile(rf"(?:{NAMES}|_KEY$)", re.IGNORECASE)


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
        known, token = 0, ""
        while known < MOST_SECRETS:
            try:
                page = await client.request("GET", SECRET.path(""), {"limit": _PAGE, "continue": token})
            except ApiError as error:
                which = "the values of Secrets" if not known else f"the values of Secrets after the first {known}"
                return f"{which} are not known, so only their forms are removed: {error.message}"
            for each in page["items"]:
                self.hide(_values(each))
            known, token = known + len(page["items"]), page["metadata"].get("continue") or ""
            if not token:
                return f"the values of {known} Secrets are removed wherever they appear"
        return (
            f"the values of the first {known} Secrets are removed wherever they appear; there are more, of which only "
            "the forms are removed: check the bundle before you share it"
        )

    def text(self, text: str) -> str:
        return scrub_shapes(self._scrubber.scrub(text))

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
            # Not a text, so that it can only be printed as it is stored.
            yield each
            continue
        if "-----BEGIN" not in text:
            yield text
        yield from _parts(text)


def _parts(document: str) -> Iterator[str]:
    """The texts in a value that is JSON, as a Docker configuration is, with the passwords in its credentials."""
    try:
        waiting: list[Json] = [msgspec.json.decode(document)] if document.lstrip().startswith(("{", "[")) else []
    except ValueError:
        return
    while waiting:
        match waiting.pop():
            case str() as text if len(text) >= _SHORTEST_PART:
                yield text
                yield _password(text)
            case dict() as members:
                waiting.extend(members.values())
            case list() as members:
                waiting.extend(members)


def _password(auth: str) -> str:
    """That of `user:password` in base64; empty for another text."""
    try:
        return base64.b64decode(auth, validate=True).decode().partition(":")[2]
    except ValueError:
        return ""

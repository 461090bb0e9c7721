"""Hides secrets from pages: values that look like a secret by their name, or are one by their schema. Pure.

Outputs of plugins hold no secrets by contract, and resources should refer to secrets instead of holding them. Screens
are shared, so values with the name of a secret are hidden all the same, and so are credentials in URLs.
"""

from __future__ import annotations

import re
from typing import Final

from homeostat.objects.json import Json, JsonObject

HIDDEN: Final = "(hidden)"
TOO_DEEP: Final = "(not shown: too deep)"
DEEPEST: Final = 64
is_secret_name = re.compile(
    r"pass(?:word|wd|phrase|code)|secret|token|credential|(?:private|api|access|signing|encryption)[-_ ]?key"
    r"|connection[-_ ]?string|^(?:auth|authorization|cookie|pin|dsn)$",
    re.IGNORECASE,
).search
# The length of a scheme is bounded: a text such as a.a.a.a has a possible start at every second character.
_SCHEME: Final = r"(?P<scheme>\b[a-zA-Z][a-zA-Z0-9+.-]{0,30}://)"
# Up to the last @: a password may contain one.
_credentials = re.compile(rf"{_SCHEME}[^/\s\"'<>]+@").sub
# A password may contain a slash as well. In oci://registry:5000/app@sha256 there is a port before the slash, and no
# password. The next scheme ends it: otherwise each start would be followed to the end of the text.
_slashed = re.compile(rf"{_SCHEME}(?!\[)[^/\s:@\"'<>]*:(?!\d{{1,5}}[/?#])(?:[^\s\"'<>:]|:(?!//)){{1,1024}}@").sub
_escapes = re.compile(r"\x1b(?:\[[0-9;?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|.)|[\x00-\x08\x0b-\x1f\x7f]").sub


def without_secrets(value: Json, schema: Json = None, *, depth: int = 0) -> Json:
    """The value with its secrets replaced. `schema` marks further ones by `format: password` or `writeOnly`. What is
    deeper than a page can show is replaced as well.
    """
    known: JsonObject = schema if isinstance(schema, dict) else {}
    match value:
        case dict() | list() if depth >= DEEPEST and value:
            return TOO_DEEP
        case dict():
            return {name: _shown(name, each, _of_property(known, name), depth) for name, each in value.items()}
        case list():
            return [without_secrets(each, known.get("items"), depth=depth + 1) for each in value]
        case str():
            return without_credentials(value)
    return value


def without_credentials(text: str) -> str:
    if "://" not in text:
        return text
    hidden = rf"\g<scheme>{HIDDEN}@"
    return _slashed(hidden, _credentials(hidden, text))


def plain_text(text: str) -> str:
    """Output of a program, without control sequences for terminals and without credentials."""
    return without_credentials(_escapes("", text.replace("\r\n", "\n")))


def _shown(name: str, value: Json, schema: Json, depth: int) -> Json:
    is_secret_by_schema = isinstance(schema, dict) and (
        schema.get("format") == "password" or schema.get("writeOnly") is True
    )
    has_content = value is not None and not isinstance(value, bool) and value not in ("", [], {})
    if has_content and (is_secret_by_schema or is_secret_name(name)):
        return HIDDEN
    return without_secrets(value, schema, depth=depth + 1)


def _of_property(schema: JsonObject, name: str) -> Json:
    properties = schema.get("properties")
    found = properties.get(name) if isinstance(properties, dict) else None
    return found if found is not None else schema.get("additionalProperties")

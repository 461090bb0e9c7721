"""Hides secrets from pages: values that look like a secret by their name, or are one by their schema. Pure.

Outputs of plugins hold no secrets by contract, and resources should refer to secrets instead of holding them. Screens
are shared, so values with the name of a secret are hidden all the same, and so are credentials in URLs.
"""

from __future__ import annotations

import re
from typing import Final

from homeostat.objects.json import Json, JsonObject

HIDDEN: Final = "(hidden)"
_is_secret_name = re.compile(
    r"pass(?:word|wd|phrase|code)|secret|token|credential|(?:private|api|access|signing|encryption)[-_ ]?key"
    r"|connection[-_ ]?string|^(?:auth|pin|dsn)$",
    re.IGNORECASE,
).search
_credentials = re.compile(r"(?P<scheme>\b[a-zA-Z][a-zA-Z0-9+.-]*://)[^/\s@\"'<>]+@").sub
_escapes = re.compile(r"\x1b(?:\[[0-9;?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|.)|[\x00-\x08\x0b-\x1f\x7f]").sub


def without_secrets(value: Json, schema: Json = None) -> Json:
    """The value with its secrets replaced. `schema` marks further ones by `format: password` or `writeOnly`."""
    known: JsonObject = schema if isinstance(schema, dict) else {}
    match value:
        case dict():
            return {name: _shown(name, each, _of_property(known, name)) for name, each in value.items()}
        case list():
            return [without_secrets(each, known.get("items")) for each in value]
        case str():
            return without_credentials(value)
    return value


def without_credentials(text: str) -> str:
    return _credentials(rf"\g<scheme>{HIDDEN}@", text)


def plain_text(text: str) -> str:
    """Output of a program, without control sequences for terminals and without credentials."""
    return without_credentials(_escapes("", text.replace("\r\n", "\n")))


def _shown(name: str, value: Json, schema: Json) -> Json:
    is_secret_by_schema = isinstance(schema, dict) and (
        schema.get("format") == "password" or schema.get("writeOnly") is True
    )
    has_content = value is not None and not isinstance(value, bool) and value not in ("", [], {})
    return HIDDEN if has_content and (is_secret_by_schema or _is_secret_name(name)) else without_secrets(value, schema)


def _of_property(schema: JsonObject, name: str) -> Json:
    properties = schema.get("properties")
    found = properties.get(name) if isinstance(properties, dict) else None
    return found if found is not None else schema.get("additionalProperties")

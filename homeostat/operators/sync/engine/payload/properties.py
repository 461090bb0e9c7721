"""Java properties: keys with texts, with escapes, comments and continued lines. Pure.

What is written here is read back the same: blanks, `:`, `=`, `#` and `!` of keys are escaped.
"""

from __future__ import annotations

import re

from homeostat.objects.json import Json
from homeostat.operators.sync.engine.errors import ValidationError
from homeostat.operators.sync.engine.payload.value import text_of

_ESCAPES = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}
_WRITTEN = {"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r", "\f": "\\f"}
_split = re.compile(r"((?>(?:[^\\:= \t\f]|\\.)*))[ \t\f]*+[:=]?[ \t\f]*+(.*)", re.DOTALL).fullmatch
_escape = re.compile(r"\\u([0-9a-fA-F]{4})|\\(.)|\\$", re.DOTALL)


def load(text: str) -> dict[str, str]:
    found = dict[str, str]()
    for line in _lines(text):
        if (parts := _split(line)) is not None:
            found[_unescaped(parts[1])] = _unescaped(parts[2])
    return found


def _lines(text: str) -> list[str]:
    """Logical lines, without comments."""
    found, kept = list[str](), ""
    for raw in re.split(r"\r\n|\r|\n", text):
        line = raw.lstrip(" \t\f")
        if not kept and (not line or line[0] in "#!"):
            continue
        backslashes = len(line) - len(line.rstrip("\\"))
        if backslashes % 2:
            kept += line[:-1]
            continue
        found.append(kept + line)
        kept = ""
    return [*found, kept] if kept else found


def _unescaped(text: str) -> str:
    def one(match: re.Match[str]) -> str:
        if match[1]:
            return chr(int(match[1], 16))
        return _ESCAPES.get(match[2], match[2]) if match[2] else ""

    plain = _escape.sub(one, text)
    # A pair of surrogates is one character.
    return plain.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def dump(value: Json) -> str:
    """Sorted lines of `key=value`; `ValidationError` for lists and nested objects."""
    if not isinstance(value, dict):
        raise ValidationError("properties hold an object of texts; the payload is not an object")
    lines = []
    for key, item in sorted(value.items()):
        text = "" if item is None else text_of(item)
        if text is None:
            raise ValidationError(f'properties hold texts; "{key}" is a list or an object')
        lines.append(f"{_key(key)}={_value(text)}\n")
    return "".join(lines)


def _key(key: str) -> str:
    return re.sub(r"[ :=#!]", r"\\\g<0>", _control(key))


def _value(text: str) -> str:
    plain = _control(text)
    return f"\\{plain}" if plain.startswith(" ") else plain


def _control(text: str) -> str:
    return re.sub(r"[\\\t\n\r\f]", lambda match: _WRITTEN[match[0]], text)

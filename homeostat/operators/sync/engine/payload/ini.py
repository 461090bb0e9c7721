"""INI files: texts by key, and one level of sections. Pure."""

from __future__ import annotations

from homeostat.objects.json import Json, JsonObject
from homeostat.operators.sync.engine.errors import ValidationError
from homeostat.operators.sync.engine.payload.value import text_of


def load(text: str) -> JsonObject:
    found: JsonObject = {}
    section = found
    for number, raw in enumerate(text.splitlines(), 1):
        line = raw.strip()
        if not line or line[0] in ";#":
            continue
        if line.startswith("["):
            if not line.endswith("]") or not line[1:-1].strip():
                raise ValidationError(f"invalid INI: line {number} is not a section such as [name]")
            section = found.setdefault(line[1:-1].strip(), {})
            if not isinstance(section, dict):
                raise ValidationError(f"invalid INI: line {number} names a section like a key")
            continue
        key, equals, value = line.partition("=")
        if not equals or not key.strip():
            raise ValidationError(f"invalid INI: line {number} is neither a section nor key = value")
        section[key.strip()] = value.strip()
    return found


def dump(value: Json) -> str:
    """Keys without a section first, then the sections, each sorted."""
    if not isinstance(value, dict):
        raise ValidationError("INI holds an object; the payload is not an object")
    plain = {key: item for key, item in value.items() if not isinstance(item, dict)}
    sections = {key: item for key, item in value.items() if isinstance(item, dict)}
    parts = [_pairs(plain)] if plain else []
    parts += [f"[{name}]\n{_pairs(items)}" for name, items in sorted(sections.items())]
    return "\n".join(parts)


def _pairs(items: JsonObject) -> str:
    lines = []
    for key, item in sorted(items.items()):
        text = "" if item is None else text_of(item)
        if text is None:
            raise ValidationError(f'INI holds texts in one level of sections; "{key}" is nested deeper or a list')
        if "\n" in text or "\n" in key or key.strip() != key or not key or key[0] in ";#[" or "=" in key:
            raise ValidationError(f'INI cannot hold the key or the value of "{key}": it has a line break or "="')
        lines.append(f"{key} = {text.strip()}\n")
    return "".join(lines)

"""YAML as kubectl prints it: sorted keys, block style, two spaces, lists not indented.

What is written here, `yaml.load` reads back as the same value: a string that looks like something else is quoted.
"""

from __future__ import annotations

import re

from homeostat.objects.json import Json, encode
from homeostat.objects.yaml.scalar import NOT_NUMBERS, resolve

_PLAIN = re.compile(r"[A-Za-z0-9_/.(<$^+][A-Za-z0-9_/.()<>$^+*@%=;~|&?!-]*(?:[ :][A-Za-z0-9_/.()<>$^+*@%=;~|&?!-]+)*")


def dump(value: Json) -> bytes:
    lines: list[str] = []
    _block(value, "", "", lines)
    return ("\n".join(lines) + "\n").encode()


def dump_all(values: list[Json]) -> bytes:
    return b"---\n".join(map(dump, values))


def _block(value: Json, lead: str, indent: str, lines: list[str]) -> None:
    """Adds `value` after `lead` (`key:` or `-`, indented); what does not fit the line goes to `indent`."""
    if type(value) is dict and value:
        _mapping(value, lead, indent, lines)
    elif type(value) is list and value:
        _sequence(value, lead, indent, lines)
    else:
        text = _inline(value, indent)
        lines.append(f"{lead} {text}" if lead else text)


def _mapping(value: dict[str, Json], lead: str, indent: str, lines: list[str]) -> None:
    in_list = lead.endswith("-")
    if lead and not in_list:
        lines.append(lead)
    for place, key in enumerate(sorted(value)):
        start = f"{lead} " if in_list and place == 0 else indent
        item = value[key]
        deeper = indent if type(item) is list else indent + "  "
        _block(item, f"{start}{_inline(key, '')}:", deeper, lines)


def _sequence(value: list[Json], lead: str, indent: str, lines: list[str]) -> None:
    in_list = lead.endswith("-")
    if lead and not in_list:
        lines.append(lead)
    for place, item in enumerate(value):
        start = f"{lead} -" if in_list and place == 0 else f"{indent}-"
        _block(item, start, indent + "  ", lines)


def _inline(value: Json, indent: str) -> str:
    if type(value) is not str:
        return encode(value).decode()
    if _PLAIN.fullmatch(value) and "--" not in value[:3]:
        return f'"{value}"' if _looks_typed(value) else value
    if "\n" in value and indent and not value[0].isspace():
        lines = value.removesuffix("\n").split("\n")
        if all(line.isprintable() for line in lines):
            return "\n".join([_chomping(value), *(f"{indent}{line}" if line else "" for line in lines)])
    if value.isprintable() and value.isascii():
        return "'" + value.replace("'", "''") + "'" if value else '""'
    return double_quoted(value)


def _chomping(value: str) -> str:
    if not value.endswith("\n"):
        return "|-"
    return "|+" if value.endswith("\n\n") else "|"


def _looks_typed(text: str) -> bool:
    # Dates are texts to kubectl, but not to every reader.
    return text in NOT_NUMBERS or text in ("<<", "=", "...") or type(resolve(text)) is not str or text[:4].isdigit()


def double_quoted(text: str) -> str:
    marks = [mark if mark.isprintable() and mark not in '"\\' else f"\\U{ord(mark):08X}" for mark in text]
    return (
        '"'
        + "".join(marks).replace("\\U0000000A", "\\n").replace("\\U00000022", '\\"').replace("\\U0000005C", "\\\\")
        + '"'
    )

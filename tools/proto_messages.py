"""Messages of a `generated.proto` file as facts: the number of each field, its name and its type.

Only as much of the language as Kubernetes generates: one field a line, no message inside another.
"""

from __future__ import annotations

import re
from typing import Any

Messages = dict[str, dict[str, dict[str, Any]]]
"""The fields of each message, by its full name and by their numbers."""

_PACKAGE = re.compile(r"package ([\w.]+);")
_MESSAGE = re.compile(r"message (\w+) \{")
_FIELD = re.compile(r"\s+(?:(optional|repeated) )?(map<string, ([\w.]+)>|[\w.]+) (\w+) = (\d+)[ ;]")
_SCALAR = re.compile(r"[a-z]\w*")


def messages_in(text: str) -> Messages:
    found: Messages = {}
    package, fields = "", dict[str, dict[str, Any]]()
    for line in text.splitlines():
        if declared := _PACKAGE.match(line):
            package = declared[1]
        elif opening := _MESSAGE.match(line):
            fields = found[f"{package}.{opening[1]}"] = {}
        elif member := _FIELD.match(line):
            label, whole, of_map, name, number = member.groups()
            full = f"map<string,{_full(of_map, package)}>" if of_map else _full(whole, package)
            fields[number] = {"name": name, "type": full, **({"repeated": True} if label == "repeated" else {})}
    return found


def _full(name: str, package: str) -> str:
    if name.startswith("."):
        return name[1:]
    return name if _SCALAR.fullmatch(name) else f"{package}.{name}"

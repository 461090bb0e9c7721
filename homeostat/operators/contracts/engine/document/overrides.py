"""Changes to a contract before it is parsed: values files, then single settings of a command line. Pure.

Maps are merged, lists are replaced whole.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from math import inf
from typing import Final

from homeostat.objects.json import Json, JsonObject
from homeostat.operators.contracts.engine.document.reader import YamlError, read_document

_step = re.compile(r"([^.\[\]]+)|\[([0-9]{1,9})\]")
_is_integer = re.compile(r"[-+]?[0-9]+", re.ASCII).fullmatch
_is_float = re.compile(r"[-+]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][-+]?[0-9]+)?", re.ASCII).fullmatch
_MOST_STEPS: Final = 50
_LONGEST_NUMBER: Final = 400
"""Characters. Python refuses to read some thousands of digits."""
_BOOLEANS: Final[dict[str, Json]] = {
    **dict.fromkeys(("t", "T", "true", "True", "TRUE"), True),
    **dict.fromkeys(("f", "F", "false", "False", "FALSE"), False),
}


class OverrideError(ValueError):
    """A setting or a values file cannot be applied."""


def apply_overrides(base: JsonObject, values: Sequence[tuple[str, bytes]], settings: Iterable[str]) -> JsonObject:
    """Change `base`: later values files override earlier ones, and settings such as `a[0].b=1` override both."""
    merged = base
    for name, data in values:
        merged = merge(merged, _read_values(name, data))
    for setting in settings:
        _set(merged, setting)
    return merged


def _read_values(name: str, data: bytes) -> JsonObject:
    try:
        document = read_document(data)
    except YamlError as error:
        raise OverrideError(f"values file {name} is not YAML: {error}") from error
    value = None if document is None else document.as_written()
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise OverrideError(f"values file {name} must hold a map")
    return value


def merge(base: JsonObject, other: JsonObject) -> JsonObject:
    for key, value in other.items():
        current = base.get(key)
        base[key] = merge(current, value) if isinstance(current, dict) and isinstance(value, dict) else value
    return base


def _set(document: JsonObject, setting: str) -> None:
    path, equals, text = setting.partition("=")
    steps = _steps(path)
    if not equals or not steps:
        raise OverrideError(f'"{setting}" is not a setting; expected path=value, such as interfaces[0].port=8080')
    holder: Json = document
    for step, following in zip(steps, [*steps[1:], None], strict=True):
        _check_step(holder, step, setting)
        if following is None:
            holder[step] = guess(text)
        elif isinstance(following, str) and isinstance(holder, dict):
            holder.setdefault(step, {})
        holder = holder.get(step) if isinstance(holder, dict) else holder[step]


def _check_step(holder: Json, step: str | int, setting: str) -> None:
    if isinstance(step, int):
        if not isinstance(holder, list) or step >= len(holder):
            raise OverrideError(f'"{setting}": there is no item [{step}]; an index must exist')
    elif not isinstance(holder, dict):
        raise OverrideError(f'"{setting}": {step} is not below a map')


def _steps(path: str) -> list[str | int]:
    found: list[str | int] = []
    place = 0
    while place < len(path) and len(found) <= _MOST_STEPS:
        step = _step.match(path, place)
        if step is None:
            return []
        found.append(step[1] if step[1] is not None else int(step[2]))
        place = step.end()
        if path[place : place + 1] == "." and place + 1 < len(path):
            place += 1
    return found if place == len(path) else []


def guess(text: str) -> Json:
    """Return a number, a boolean or the text itself: `1.0` is a number, `1.0.0` is a text."""
    may_be_number = len(text) <= _LONGEST_NUMBER
    if may_be_number and _is_integer(text):
        return int(text)
    if may_be_number and _is_float(text) and abs(number := float(text)) != inf:
        return number
    return _BOOLEANS.get(text, text)

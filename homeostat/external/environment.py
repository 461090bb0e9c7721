"""Settings from environment variables: switches and numbers in a range.

A variable that is not set, or empty, has its default. An error names the variable and what is expected, and does not
quote the value, which may be a secret of another variable. Pure.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

_WORDS: Final = {
    "": False,
    "0": False,
    "false": False,
    "no": False,
    "off": False,
    "1": True,
    "true": True,
    "yes": True,
    "on": True,
}


class SettingError(ValueError):
    """An environment variable is invalid."""


def setting(environment: Mapping[str, str], name: str) -> str:
    return environment.get(name, "").strip()


def switch(environment: Mapping[str, str], name: str) -> bool:
    found = _WORDS.get(setting(environment, name).lower())
    if found is None:
        raise SettingError(f"environment variable {name} must be true or false")
    return found


def number(
    environment: Mapping[str, str],
    name: str,
    default: float,
    *,
    least: float = 0,
    most: float,
    excludes_least: bool = False,
    unit: str = "",
) -> float:
    text = setting(environment, name)
    try:
        found = float(text) if text else default
    except ValueError:
        found = float("nan")
    if not least <= found <= most or (excludes_least and found == least):
        lowest = f"above {least:.10g} and up to" if excludes_least else f"from {least:.10g} to"
        raise SettingError(f"environment variable {name} must be a number {unit and f'of {unit} '}{lowest} {most:.10g}")
    return found


def whole_number(environment: Mapping[str, str], name: str, default: int, *, least: int, most: int) -> int:
    text = setting(environment, name)
    if not text:
        return default
    # Python refuses to read a number of thousands of digits.
    if not (text.isascii() and text.isdigit() and len(text) < 20) or not least <= int(text) <= most:
        raise SettingError(f"environment variable {name} must be a whole number from {least} to {most}")
    return int(text)

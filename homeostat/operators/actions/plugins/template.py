"""Templates such as `/databases/${spec.name}`, filled with values of a resource. Pure.

A placeholder is a path in the values; dots lead into objects. In a URL a value is escaped as one segment: it cannot add
a path, a query or a host. In a body, a string that is one placeholder becomes the value itself, of any type.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import quote

from homeostat.objects.json import Json

_placeholders = re.compile(r"\$\{([A-Za-z0-9_.-]+)\}")


class TemplateError(Exception):
    """A placeholder has no value, or one that is not allowed there."""


def fill_url(template: str, values: Mapping[str, Any]) -> str:
    return _filled(template, values, lambda text: quote(text, safe=""))


def fill_text(template: str, values: Mapping[str, Any]) -> str:
    return _filled(template, values, lambda text: text)


def fill(template: Json, values: Mapping[str, Any]) -> Json:
    """Fills every string of a JSON value. A member whose placeholder has no value is omitted."""
    match template:
        case str():
            whole = _placeholders.fullmatch(template)
            return lookup(whole[1], values) if whole else fill_text(template, values)
        case dict():
            return {key: filled for key, each in template.items() if (filled := _optional(each, values)) is not None}
        case list():
            return [fill(each, values) for each in template]
        case _:
            return template


def lookup(path: str, values: Mapping[str, Any]) -> Json:
    found: Any = values
    for step in path.split("."):
        if not isinstance(found, Mapping) or step not in found:
            raise TemplateError(f'"${{{path}}}" has no value: there is no "{step}"')
        found = found[step]
    return found


def _optional(template: Json, values: Mapping[str, Any]) -> Json:
    if isinstance(template, str) and _placeholders.fullmatch(template):
        try:
            return fill(template, values)
        except TemplateError:
            return None
    return fill(template, values)


def _filled(template: str, values: Mapping[str, Any], written: Callable[[str], str]) -> str:
    def value_of(placeholder: re.Match[str]) -> str:
        value = lookup(placeholder[1], values)
        if isinstance(value, bool):
            return written("true" if value else "false")
        if not isinstance(value, str | int | float):
            raise TemplateError(f'"${{{placeholder[1]}}}" is neither a string nor a number')
        text = str(value)
        if text in ("", ".", ".."):
            raise TemplateError(f'"${{{placeholder[1]}}}" is "{text}", which cannot be part of a URL')
        return written(text)

    return _placeholders.sub(value_of, template)

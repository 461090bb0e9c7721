"""One step of a transform: select attributes, exclude attributes, or run a jq program. Pure.

A jq program is not run here: the caller runs it between the other steps.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from homeostat.objects.json import Json
from homeostat.operators.sync.engine.errors import ValidationError
from homeostat.operators.sync.engine.payload import pointer


@dataclass(frozen=True, slots=True)
class Select:
    pointers: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Exclude:
    pointers: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Jq:
    program: str


Step = Select | Exclude | Jq
RESOURCE_FUNCTION: Final = (
    'def resource($p): $__resources[$p] // error("resource takes the path of an existing resource, in double quotes");'
)
"""Put before every program; `referenced` says which resources it needs."""
_resource = re.compile(r'\bresource\(\s*"((?>(?:[^"\\]|\\.)*))"\s*\)')
_KEYS: Final = ("selectAttributes", "excludeAttributes", "jqExpression")


def parse_step(value: Json) -> Step:
    if not isinstance(value, dict) or len(value) != 1 or next(iter(value)) not in _KEYS:
        raise ValidationError(f"a step of transforms has exactly one of {', '.join(_KEYS)}")
    key, given = next(iter(value.items()))
    if key == "jqExpression":
        if not isinstance(given, str) or not given.strip():
            raise ValidationError("jqExpression is not a program; expected a string")
        return Jq(given)
    found = [given] if isinstance(given, str) else given
    if not isinstance(found, list) or not all(isinstance(each, str) for each in found):
        raise ValidationError(f"{key} is a pointer or a list of pointers")
    for each in found:
        pointer.parse(each)
    return Select(tuple(found)) if key == "selectAttributes" else Exclude(tuple(found))


def apply_step(step: Select | Exclude, value: Json) -> Json:
    if isinstance(step, Select):
        return pointer.only(value, step.pointers)
    for each in step.pointers:
        value = pointer.without(value, each)
    return value


def referenced(program: str) -> list[str]:
    """The resources that a jq program reads by `resource("/path")`."""
    return list(dict.fromkeys(_resource.findall(program)))

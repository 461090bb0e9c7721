"""What may be shown of an error of jq: nothing that a payload holds. Pure.

An error that a program meets at run time quotes values, and `error` raises any value. So only texts of jq itself are
shown, each with the types of the values in place of the values, and texts that the program contains as they are.
"""

from __future__ import annotations

import json
import re
from functools import cache
from typing import Final

_TYPE: Final = "(null|boolean|number|string|array|object)"
_VALUE: Final = rf"{_TYPE} \(.*\)"
_UNKNOWN: Final = "it failed on a value, and its message is not shown because it may contain the value"
_TEXTS: Final = (
    "{value} and {value} cannot be added",
    "{value} and {value} cannot be subtracted",
    "{value} and {value} cannot be multiplied",
    "{value} and {value} cannot be divided",
    "{value} and {value} cannot be divided because the divisor is zero",
    "{value} and {value} cannot be divided (remainder)",
    "{value} and {value} cannot be divided (remainder) because the divisor is zero",
    "{value} and {value} cannot have their containment checked",
    "{value} and {value} cannot be sorted, as they are not both arrays",
    "{value} cannot be sorted, as it is not an array",
    "{value} cannot be matched, as it is not a string",
    "{value} cannot be parsed as a number",
    "{value} cannot be parsed as a boolean",
    "{value} cannot be negated",
    "{value} has no keys",
    "{value} has no length",
    "{value} number required",
    "{value} is not a string",
    "{value} is not valid base64 data",
    "{value} is not valid in a csv row",
    "{value} cannot be csv-formatted, only array",
    "{value} can not be escaped for shell",
    "{value} only strings have UTF-8 byte length",
    "Cannot iterate over {value}",
    "Cannot iterate over {type}",
    "Cannot use {value} as object key",
    "Cannot index {type} with {value}",
    "Cannot index {type} with {type}",
    "Cannot check whether {type} has a {type} key",
    "Cannot delete fields from {type}",
    "Array/string slice indices must be integers",
    "Range bounds must be numeric",
    "Path must be specified as an array",
    "Object keys must be strings",
    "startswith() requires string inputs",
    "endswith() requires string inputs",
    "split input and separator must be strings",
    "explode input must be a string",
    "implode input must be an array",
    "trim input must be a string",
    "flatten depth must not be negative",
    "mktime requires array inputs",
    "strftime/1 requires parsed datetime inputs",
    "out of memory",
)


def _pattern(text: str) -> re.Pattern[str]:
    escaped = re.escape(text).replace(r"\{value\}", _VALUE).replace(r"\{type\}", _TYPE)
    return re.compile(escaped, re.DOTALL)


@cache
def _known() -> tuple[tuple[re.Pattern[str], str], ...]:
    """Compiled when the first program fails: few commands ever need it."""
    return tuple((_pattern(each), re.sub(r"\{\w+\}", "{}", each)) for each in _TEXTS)


_PARTS: Final = (
    (r'Cannot index (\w+) with ".*"', "Cannot index a value with a string"),
    (r'date ".*" does not match format ".*"', "a date does not match its format"),
    (r".* \(while parsing '.*", "a text is not valid JSON"),
    (r"Regex failure: .*", "a regular expression is invalid"),
    (r".* is not a valid modifier string", "the flags of a regular expression are invalid"),
)


def of_compiler(error: str) -> str:
    """The first line, without places in text of ours. A compiler sees no values."""
    return error.strip().partition("\n")[0].removeprefix("jq: error: ").partition(" at <top-level>")[0][:300]


def of_run(error: str, program: str) -> str:
    if any(json.dumps(error, ensure_ascii=is_ascii) in program for is_ascii in (True, False)):
        return error[:300]
    for pattern, text in _known():
        if (found := pattern.fullmatch(error)) is not None:
            return text.format(*found.groups())
    return next((text for pattern, text in _PARTS if re.fullmatch(pattern, error, re.DOTALL)), _UNKNOWN)

"""Google's implementation of the language, asked the same question: what is this expression's outcome?

An outcome is `("value", type, value)`, or `("no value",)` for an error of evaluation, or `("refused",)` for text that
does not compile. Errors come back from that library as values of the type ERROR.
"""

from __future__ import annotations

import datetime
import math
from typing import Any

from cel_expr_python import cel as google
from cel_expr_python.ext import ext_bindings, ext_encoders, ext_math, ext_optional, ext_strings

from homeostat import cel

Outcome = tuple[Any, ...]
REFUSED: Outcome = ("refused",)
NO_VALUE: Outcome = ("no value",)

BINDINGS: dict[str, Any] = {
    "i": 5,
    "u": 7,
    "d": 2.5,
    "s": "hello",
    "l": [1, 2, 3],
    "m": {"a": 1, "b": 2},
    "x": {"a": {"b": [1, 2.5, "c", None, True]}},
    "t": datetime.datetime(2021, 3, 4, 5, 6, 7, tzinfo=datetime.UTC),
}
_NANOSECONDS = 1000
_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)


def _google() -> Any:
    kinds = google.Type
    extensions = [
        ext_strings.ExtStrings(),
        ext_bindings.ExtBindings(),
        ext_optional.ExtOptional(),
        ext_encoders.ExtEncoders(),
        ext_math.ExtMath(),
    ]
    variables = {
        "i": kinds.INT,
        "u": kinds.UINT,
        "d": kinds.DOUBLE,
        "s": kinds.STRING,
        "l": kinds.List(kinds.INT),
        "m": kinds.Map(kinds.STRING, kinds.INT),
        "x": kinds.DYN,
        "t": kinds.TIMESTAMP,
    }
    return google.NewEnv(variables=variables, extensions=extensions)


_ORACLE = _google()
_OURS = cel.Environment(
    {
        "i": cel.INT,
        "u": cel.UINT,
        "d": cel.DOUBLE,
        "s": cel.STRING,
        "l": cel.ListType(cel.INT),
        "m": cel.MapType(cel.STRING, cel.INT),
        "x": cel.DYN,
        "t": cel.TIMESTAMP,
    },
    homogeneous_literals=False,
)


def oracle_outcome(text: str) -> Outcome:
    try:
        expression = _ORACLE.compile(text)
    except Exception:
        return REFUSED
    try:
        result = expression.eval(data=BINDINGS)
    except Exception:
        return NO_VALUE
    kind = result.type().name()
    if kind == "ERROR":
        return NO_VALUE
    return "value", _plain_type(kind), _plain(result.plain_value())


def our_outcome(text: str) -> Outcome:
    bindings = {**BINDINGS, "u": cel.Uint(7), "t": "2021-03-04T05:06:07Z"}
    try:
        program = _OURS.compile(text)
    except cel.CompileError:
        return REFUSED
    try:
        value = program.evaluate(bindings)
    except cel.EvaluationError:
        return NO_VALUE
    return "value", _our_type(value), _plain(value)


def _plain_type(name: str) -> str:
    return name.partition("<")[0].lower()


def _our_type(value: Any) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "bool"
        case cel.Uint():
            return "uint"
        case cel.TypeValue():
            return "type"
        case cel.Timestamp():
            return "timestamp"
        case cel.Duration():
            return "duration"
        case _:
            return {int: "int", float: "double", str: "string", bytes: "bytes", list: "list", dict: "map"}[type(value)]


def _plain(value: Any) -> Any:
    """A value of either side as something that Python compares as we mean it."""
    match value:
        case bool():
            return ("bool", value)
        case float() if math.isnan(value):
            return "NaN"
        case bytes() | bytearray():
            return bytes(value)
        case list():
            return [_plain(item) for item in value]
        case dict():
            return {str(key): _plain(item) for key, item in value.items()}
        case datetime.datetime():
            return ("timestamp", (value - _EPOCH) // datetime.timedelta(microseconds=1))
        case datetime.timedelta():
            return ("duration", value // datetime.timedelta(microseconds=1))
        case cel.Timestamp():
            return ("timestamp", value.nanoseconds // _NANOSECONDS)
        case cel.Duration():
            return ("duration", value.nanoseconds // _NANOSECONDS)
        case cel.TypeValue():
            return ("type", value.name)
        case google.Type():
            return ("type", _plain_type(value.name()))
        case _:
            return value

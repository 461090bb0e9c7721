"""The Common Expression Language with the functions of Kubernetes, compiled to Python closures.

Pure: no I/O, no clock, and no imports from the rest of this package. Values are what a JSON decoder gives, read in
place. A host declares its variables (`Environment`), compiles expressions once and evaluates them often; it may add
functions of its own (`function`, `member`).
"""

from __future__ import annotations

from homeostat.cel.check.cost import CALL_LIMIT, OBJECT_LIMIT, Budget
from homeostat.cel.check.estimate import size_limit
from homeostat.cel.environment import Environment, Program
from homeostat.cel.errors import CelError, CompileError, CostLimitError, EvaluationError, Issue, NoSuchOverloadError
from homeostat.cel.names import escape_field
from homeostat.cel.registry import Overload, function, member
from homeostat.cel.timestamps import Duration, Timestamp
from homeostat.cel.types import (
    BOOL,
    BYTES,
    DOUBLE,
    DURATION,
    DYN,
    INT,
    NULL,
    STRING,
    TIMESTAMP,
    UINT,
    ListType,
    MapType,
    ObjectType,
    OpaqueType,
    OptionalType,
    StructType,
    Type,
    TypeType,
)
from homeostat.cel.values import Opaque, Optional, TypeValue, Uint

__all__ = [
    "BOOL",
    "BYTES",
    "CALL_LIMIT",
    "DOUBLE",
    "DURATION",
    "DYN",
    "INT",
    "NULL",
    "OBJECT_LIMIT",
    "STRING",
    "TIMESTAMP",
    "UINT",
    "Budget",
    "CelError",
    "CompileError",
    "CostLimitError",
    "Duration",
    "Environment",
    "EvaluationError",
    "Issue",
    "ListType",
    "MapType",
    "NoSuchOverloadError",
    "ObjectType",
    "Opaque",
    "OpaqueType",
    "Optional",
    "OptionalType",
    "Overload",
    "Program",
    "StructType",
    "Timestamp",
    "Type",
    "TypeType",
    "TypeValue",
    "Uint",
    "escape_field",
    "function",
    "member",
    "size_limit",
]

"""Names of JSON members as identifiers of the language, escaped as Kubernetes escapes them.

Only `[a-zA-Z_.-/][a-zA-Z0-9_.-/]*` can be escaped; other members cannot be reached by selection.
"""

from __future__ import annotations

import re

RESERVED = frozenset(
    [
        "true",
        "false",
        "null",
        "in",
        "as",
        "break",
        "const",
        "continue",
        "else",
        "for",
        "function",
        "if",
        "import",
        "let",
        "loop",
        "package",
        "namespace",
        "return",
        "var",
        "void",
        "while",
    ]
)
"""Reserved words."""

_ESCAPABLE = re.compile(r"[a-zA-Z_./-][a-zA-Z0-9_./-]*\Z")
_SPECIAL = re.compile(r"__|[./-]")
_ESCAPES = {"__": "__underscores__", ".": "__dot__", "-": "__dash__", "/": "__slash__"}


def escape_field(name: str) -> str | None:
    """The identifier that selects a member; None if there is none."""
    if name in RESERVED:
        return f"__{name}__"
    if not _ESCAPABLE.match(name):
        return None
    return _SPECIAL.sub(lambda found: _ESCAPES[found[0]], name)


TYPE_NAMES = frozenset(
    [
        "bool",
        "int",
        "uint",
        "double",
        "string",
        "bytes",
        "list",
        "map",
        "null_type",
        "type",
        "dyn",
        "optional_type",
        "google.protobuf.Timestamp",
        "google.protobuf.Duration",
        "kubernetes.Quantity",
        "kubernetes.URL",
        "kubernetes.Semver",
        "kubernetes.NamedFormat",
        "net.IP",
        "net.CIDR",
    ]
)
"""What `type(x)` can be compared with."""

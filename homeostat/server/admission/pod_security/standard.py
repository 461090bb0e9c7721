"""The Pod Security Standards that a namespace asks for by its labels: to enforce, to audit, and to warn of. Pure."""

from __future__ import annotations

import re
from typing import Final, Literal, NamedTuple, get_args

from homeostat.objects.errors import Cause, invalid
from homeostat.objects.json import JsonObject

PREFIX: Final = "pod-security.kubernetes.io/"
NEWEST: Final = 34
"""The minor version of Kubernetes whose checks are the newest; later ones have the same."""
Level = Literal["privileged", "baseline", "restricted"]
LEVELS: Final[tuple[Level, ...]] = get_args(Level)
_VERSION = re.compile(r"v1\.(0|[1-9][0-9]{0,17})")


class Standard(NamedTuple):
    level: Level
    minor: int | None
    """The version of the checks, 1.x; None for the latest."""

    @property
    def is_privileged(self) -> bool:
        return self.level == "privileged"

    def __str__(self) -> str:
        return f"{self.level}:{'latest' if self.minor is None else f'v1.{self.minor}'}"


class Policy(NamedTuple):
    enforce: Standard
    audit: Standard
    warn: Standard


_FREE: Final = Standard("privileged", None)


def read_policy(labels: JsonObject) -> tuple[Policy, list[Cause]]:
    """The policy, and what is wrong with the labels. An invalid level is `restricted` to enforce, and free else."""
    causes: list[Cause] = []
    enforce, is_named = _read(labels, "enforce", "restricted", causes)
    audit, _ = _read(labels, "audit", "privileged", causes)
    warn, _ = _read(labels, "warn", "privileged", causes)
    if is_named and PREFIX + "warn" not in labels and LEVELS.index(enforce.level) > LEVELS.index(warn.level):
        warn = Standard(enforce.level, warn.minor if PREFIX + "warn-version" in labels else enforce.minor)
    return Policy(enforce, audit, warn), causes


def _read(labels: JsonObject, mode: str, otherwise: Level, causes: list[Cause]) -> tuple[Standard, bool]:
    """The standard of a mode, and whether a label has a valid level."""
    name = PREFIX + mode
    level, minor, is_named = _FREE.level, _FREE.minor, False
    if (given := labels.get(name)) is not None:
        level, is_named = next(((each, True) for each in LEVELS if each == given), (otherwise, False))
        if not is_named:
            causes.append(invalid(f"metadata.labels[{name}]", given, f"must be one of {', '.join(LEVELS)}"))
    if (version := labels.get(f"{name}-version")) not in (None, "latest"):
        found = _VERSION.fullmatch(str(version))
        if found is None:
            causes.append(invalid(f"metadata.labels[{name}-version]", version, 'must be "latest" or "v1.x"'))
        else:
            minor = int(found[1])
    return Standard(level, minor), is_named

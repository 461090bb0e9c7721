"""Semantic versions: `semver('1.2.3-rc.1')`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from homeostat.cel.errors import EvaluationError
from homeostat.cel.functions.kubernetes.parsing import parse_cost, parses
from homeostat.cel.registry import Overload, function, member
from homeostat.cel.values import UINT_MAX, Opaque

_LONGEST = 256
_NUMBER = r"(0|[1-9][0-9]{0,19})"
_VERSION = re.compile(rf"{_NUMBER}\.{_NUMBER}\.{_NUMBER}(?:-([0-9A-Za-z.-]+))?(?:\+([0-9A-Za-z.-]+))?\Z")
_BAD_PART = re.compile(r"0[0-9]+\Z")


@dataclass(frozen=True, slots=True)
class Semver(Opaque):
    """Ordered by precedence: a version without a pre-release is above those with one; build metadata is ignored."""

    release: tuple[int, int, int]
    prerelease: tuple[str, ...]
    cel_type_name = "kubernetes.Semver"

    def rank(self) -> tuple[Any, ...]:
        parts = tuple((0, int(part), "") if part.isdecimal() else (1, 0, part) for part in self.prerelease)
        return self.release, not self.prerelease, parts


def parse_semver(text: str, normalize: bool = False) -> Semver:
    if len(text) > _LONGEST:
        raise EvaluationError(f'"{text[:_LONGEST]}..." is not a semantic version: it has {len(text)} characters')
    found = _VERSION.match(_normalized(text) if normalize else text)
    if found is None:
        raise EvaluationError(f'"{text}" is not a semantic version')
    release = (int(found[1]), int(found[2]), int(found[3]))
    prerelease = tuple(found[4].split(".")) if found[4] else ()
    build = found[5].split(".") if found[5] else ()
    if (
        max(release) > UINT_MAX
        or any(not part for part in (*prerelease, *build))
        or any(map(_BAD_PART.match, prerelease))
    ):
        raise EvaluationError(f'"{text}" is not a semantic version')
    return Semver(release, prerelease)


def _normalized(text: str) -> str:
    """Without a leading `v` and leading zeroes, and with the parts that are missing."""
    parts = text.removeprefix("v").split(".", 2)
    for index, part in enumerate(parts):
        if len(part) > 1:
            bare = part.lstrip("0")
            parts[index] = bare if bare and bare[0] in "0123456789" else "0" + bare
    if len(parts) < 3 and ("+" in parts[-1] or "-" in parts[-1]):
        raise EvaluationError("short version cannot contain PreRelease/Build meta data")
    return ".".join([*parts, "0", "0"][:3])


def _compare(one: Semver, two: Semver) -> int:
    return (one.rank() > two.rank()) - (one.rank() < two.rank())


SEMVERS: tuple[Overload, ...] = (
    function("semver(string) -> kubernetes.Semver", parse_semver, parse_cost),
    function("semver(string, bool) -> kubernetes.Semver", parse_semver, parse_cost),
    function("isSemver(string) -> bool", parses(parse_semver), parse_cost),
    function("isSemver(string, bool) -> bool", parses(parse_semver), parse_cost),
    member("kubernetes.Semver.major() -> int", lambda version: version.release[0]),
    member("kubernetes.Semver.minor() -> int", lambda version: version.release[1]),
    member("kubernetes.Semver.patch() -> int", lambda version: version.release[2]),
    member("kubernetes.Semver.isLessThan(kubernetes.Semver) -> bool", lambda one, two: one.rank() < two.rank()),
    member("kubernetes.Semver.isGreaterThan(kubernetes.Semver) -> bool", lambda one, two: one.rank() > two.rank()),
    member("kubernetes.Semver.compareTo(kubernetes.Semver) -> int", _compare),
)

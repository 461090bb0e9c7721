"""Ranges of versions: `^1.2`, `>=1 <3 || 5.x`, `1.2 - 2.3`. Pure.

The grammar and its consequences are those of Masterminds' semver: a comma or a space joins, `||` separates, `x`, `X`
and `*` stand for any number. A pre-release matches only if a constraint of the same group names one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Final

import msgspec

from homeostat.objects.versions.semver import Version, parse_version, versions_of

_PART: Final = r"[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*"
_VERSION: Final = rf"v?([0-9xX*]+)(?:\.([0-9xX*]+))?(?:\.([0-9xX*]+))?(-{_PART})?(?:\+{_PART})?"
_OPERATOR: Final = r"(!=|>=|=>|<=|=<|~>|=|>|<|~|\^|)"
_term = re.compile(rf"{_OPERATOR}\s*{_VERSION}\s*", re.ASCII)
_between = re.compile(rf"\s*({_VERSION})\s+-\s+({_VERSION})\s*", re.ASCII)
_ANY: Final = ("x", "X", "*")
_LONGEST: Final = 512


class InvalidConstraintError(ValueError):
    """The text is not a range of versions."""


class _Term(msgspec.Struct, frozen=True):
    operator: str
    version: Version
    is_any: bool = False
    """`*`: no number is given."""
    has_minor: bool = True
    has_patch: bool = True

    @property
    def is_whole(self) -> bool:
        """All three numbers are given."""
        return self.has_patch and not self.is_any

    def allows(self, version: Version, *, allows_prereleases: bool) -> bool:
        if version.prerelease and not allows_prereleases:
            return False
        return _CHECKS[self.operator](version, self)


class Constraint(msgspec.Struct, frozen=True):
    text: str
    groups: tuple[tuple[_Term, ...], ...]

    def allows(self, version: Version) -> bool:
        return any(_all_allow(group, version) for group in self.groups)


def _all_allow(group: tuple[_Term, ...], version: Version) -> bool:
    names_prerelease = any(each.version.prerelease for each in group)
    return all(each.allows(version, allows_prereleases=names_prerelease) for each in group)


@lru_cache(4096)
def parse_constraint(text: str) -> Constraint:
    """Parse a range; raises `InvalidConstraintError` if the text is not one."""
    if len(text) > _LONGEST:
        raise InvalidConstraintError(f"the range is {len(text)} characters long, more than {_LONGEST}")
    rewritten = _between.sub(lambda found: f">={found[1]}, <={found[6]}", text)
    return Constraint(text, tuple(_group(each, text) for each in rewritten.split("||")))


def best_tag(tags: Iterable[str], constraint: str = "") -> str | None:
    """Return the newest tag that is a version and matches; without a constraint, pre-releases match too."""
    found = parse_constraint(constraint) if constraint else None
    return next((tag for version, tag in versions_of(tags) if found is None or found.allows(version)), None)


def _group(group: str, text: str) -> tuple[_Term, ...]:
    """Parse terms separated by commas or spaces; `>1<3` is not a range."""
    rest, terms, is_separated = group.lstrip(), [], True
    while rest:
        found = _term.match(rest)
        if found is None or not is_separated:
            raise InvalidConstraintError(f'"{text}" is not a range of versions; expected one such as ^1.2 or >=1 <3')
        terms.append(_read_term(found, text))
        rest = rest[found.end() :]
        is_separated = found[0][-1].isspace() or rest.startswith(",")
        rest = rest[1:].lstrip() or "," if rest.startswith(",") else rest
    if not terms:
        raise InvalidConstraintError(f'"{text}" has an empty range; write * for any version')
    return tuple(terms)


def _read_term(found: re.Match[str], text: str) -> _Term:
    operator, major, minor, patch, prerelease = found.groups()
    prerelease = prerelease or ""
    if major in _ANY:
        written, known = f"0.0.0{prerelease}", 0
    elif minor is None or minor in _ANY:
        written, known = f"{major}.0.0{prerelease}", 1
    elif patch is None or patch in _ANY:
        written, known = f"{major}.{minor}.0{prerelease}", 2
    else:
        written, known = f"{major}.{minor}.{patch}{prerelease}", 3
    version = parse_version(written)
    if version is None:
        raise InvalidConstraintError(f'"{text}" is not a range of versions: {found[0].strip()} has no version')
    return _Term(operator, version, is_any=known == 0, has_minor=known != 1, has_patch=known in (0, 3))


def _not_equal(version: Version, term: _Term) -> bool:
    wanted = term.version
    if term.is_whole or term.is_any or version.major != wanted.major:
        return version != wanted
    if not term.has_minor or version.minor == wanted.minor:
        return term.has_minor and version.prerelease != wanted.prerelease
    return True


def _greater(version: Version, term: _Term) -> bool:
    wanted = term.version
    if term.is_whole or term.is_any or version.major != wanted.major:
        return version > wanted
    return term.has_minor and version.minor > wanted.minor


def _at_most(version: Version, term: _Term) -> bool:
    wanted = term.version
    if term.is_whole:
        return version <= wanted
    if version.major != wanted.major:
        return version.major < wanted.major
    return version.minor <= wanted.minor or not term.has_minor


def _tilde(version: Version, term: _Term) -> bool:
    wanted = term.version
    if version < wanted:
        return False
    if (wanted.major, wanted.minor, wanted.patch) == (0, 0, 0) and term.has_minor and term.has_patch:
        return True
    return version.major == wanted.major and (version.minor == wanted.minor or not term.has_minor)


def _caret(version: Version, term: _Term) -> bool:
    wanted = term.version
    if version < wanted or version.major != wanted.major:
        return False
    if wanted.major > 0 or not term.has_minor:
        return True
    if version.minor != wanted.minor:
        return False
    return wanted.minor > 0 or not term.has_patch or version.patch == wanted.patch


def _equal(version: Version, term: _Term) -> bool:
    return version == term.version if term.is_whole else _tilde(version, term)


_CHECKS: Final[dict[str, Callable[[Version, _Term], bool]]] = {
    "": _equal,
    "=": _equal,
    "!=": _not_equal,
    ">": _greater,
    "<": lambda version, term: version < term.version,
    ">=": lambda version, term: version >= term.version,
    "=>": lambda version, term: version >= term.version,
    "<=": _at_most,
    "=<": _at_most,
    "~": _tilde,
    "~>": _tilde,
    "^": _caret,
}

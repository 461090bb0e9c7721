"""Which tag a Deployment is to have: that of the newest commit, or one that the registry offers. Pure.

    commit              the newest commit of the application's branch (the default)
    semver:^1.2         the highest version in a range
    calver              the latest date, such as 2026.05.1 or 2026-05-17; calver:YYYY.0M.0D for one form of it
    regex:^main-        the highest of the tags that match, by what the pattern leaves over: main-10 is above main-9
    newest:^main-       the image that was built last, of the tags that match

Patterns have RE2's syntax, whose time is linear in the text. A tag that the policy does not match is never chosen.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Final

import msgspec

from homeostat.cel.errors import EvaluationError
from homeostat.cel.regex import Pattern, PatternError, compile_pattern
from homeostat.objects.versions.constraint import Constraint, InvalidConstraintError, parse_constraint
from homeostat.objects.versions.semver import parse_version

_LONGEST: Final = 500
MOST_STEPS: Final = 6_000_000
"""The most characters of all tags that a pattern matches times its weight: some seconds of a thread."""
_PARTS: Final = {
    "YYYY": r"[0-9]{4}",
    "YY": r"[0-9]{1,3}",
    "0Y": r"[0-9]{2,3}",
    "MM": r"(?:[1-9]|1[0-2])",
    "0M": r"(?:0[1-9]|1[0-2])",
    "WW": r"[1-9][0-9]?",
    "0W": r"[0-9]{2}",
    "DD": r"[1-9][0-9]?",
    "0D": r"[0-9]{2}",
    "MICRO": r"[0-9]+",
}
_token = re.compile(r"YYYY|YY|0Y|MM|0M|WW|0W|DD|0D|MICRO")
_ANY_DATE: Final = r"v?(?:19|20)[0-9]{2}(?:[.-]?[0-9]{1,8}){1,4}"
_numbers = re.compile(r"[0-9]+", re.ASCII).findall
_pieces = re.compile(r"[0-9]+|[^0-9]+", re.ASCII).findall


class PolicyError(ValueError):
    """The text is not a policy."""


class CommitPolicy(msgspec.Struct, frozen=True):
    """The tag is the id of the newest commit."""


class SemverPolicy(msgspec.Struct, frozen=True):
    range: str


class CalverPolicy(msgspec.Struct, frozen=True):
    form: str = ""


class RegexPolicy(msgspec.Struct, frozen=True):
    pattern: str


class NewestPolicy(msgspec.Struct, frozen=True):
    pattern: str = ""


TagPolicy = SemverPolicy | CalverPolicy | RegexPolicy | NewestPolicy
Policy = CommitPolicy | TagPolicy


def parse_policy(text: str) -> Policy:
    name, _, rest = text.strip().partition(":")
    if len(text) > _LONGEST:
        raise PolicyError(f"the policy has {len(text)} characters; at most {_LONGEST} are read")
    match name:
        case "commit" if not rest:
            return CommitPolicy()
        case "semver":
            _range(rest or "*")
            return SemverPolicy(rest or "*")
        case "calver":
            _calendar(rest)
            return CalverPolicy(rest)
        case "regex" if rest:
            _pattern(rest)
            return RegexPolicy(rest)
        case "newest":
            if rest:
                _pattern(rest)
            return NewestPolicy(rest)
    raise PolicyError(
        f"{text[:100]!r} is not a policy; expected commit, semver:RANGE, calver, calver:FORM, regex:PATTERN or newest"
    )


def candidates(policy: TagPolicy, tags: Iterable[str]) -> list[str]:
    """The tags that the policy matches."""
    match policy:
        case SemverPolicy(text):
            found = _range(text)
            return [tag for tag in tags if (version := parse_version(tag)) is not None and found.allows(version)]
        case CalverPolicy(form):
            return [tag for tag in tags if _is_match(_calendar(form), tag)]
        case RegexPolicy(pattern):
            return [tag for tag in tags if _is_match(_pattern(pattern), tag)]
        case NewestPolicy(pattern):
            return [tag for tag in tags if not pattern or _is_match(_pattern(pattern), tag)]


def choose(policy: TagPolicy, tags: Iterable[str], built: Mapping[str, str] | None = None) -> str:
    """The tag to write; empty if none matches. `built` has the build times of tags, which `newest` orders by.
    `PolicyError` for a pattern that would take too long.
    """
    found = candidates(policy, tags)
    match policy:
        case SemverPolicy():
            # Of equal versions (v1.2.0 and 1.2.0) the same one each time.
            return max(found, key=lambda tag: (parse_version(tag), tag), default="")
        case CalverPolicy():
            return max(found, key=lambda tag: (tuple(map(int, _numbers(tag))), tag), default="")
        case RegexPolicy(pattern):
            _check_cost(pattern, found)
            return max(found, key=lambda tag: (_order(_left_over(pattern, tag)), tag), default="")
        case NewestPolicy():
            dated = [tag for tag in found if (built or {}).get(tag)]
            return max(dated, key=lambda tag: ((built or {})[tag], tag), default="")


def _order(text: str) -> list[tuple[int, int, str]]:
    """Runs of digits are numbers, above texts."""
    return [(1, int(each), "") if each.isdecimal() else (0, 0, each) for each in _pieces(text)]


def _range(text: str) -> Constraint:
    try:
        return parse_constraint(text)
    except InvalidConstraintError as error:
        raise PolicyError(str(error)) from error


@lru_cache(256)
def _calendar(form: str) -> Pattern:
    if not form:
        return _pattern(f"^(?:{_ANY_DATE})$")
    parts = _token.findall(form)
    if not parts or parts[0] not in ("YYYY", "YY", "0Y"):
        raise PolicyError(f"{form!r} is not a form of dates; expected one that begins with the year, as YYYY.0M.0D")
    literal = _token.split(form)
    pattern = "".join(_literal(text) + _PARTS.get(part, "") for text, part in zip(literal, [*parts, ""], strict=True))
    return _pattern(f"^{pattern}$")


def _literal(text: str) -> str:
    return "".join([each if each.isalnum() else f"\\x{{{ord(each):x}}}" for each in text])


@lru_cache(256)
def _pattern(text: str) -> Pattern:
    try:
        return compile_pattern(text)
    except PatternError as error:
        raise PolicyError(f"{text!r}: {error}") from error


def _is_match(pattern: Pattern, tag: str) -> bool:
    try:
        return pattern.is_match(tag)
    except EvaluationError:
        return False


def _check_cost(pattern: str, tags: Sequence[str]) -> None:
    """What a pattern leaves over is searched for step by step, unlike whether it matches."""
    if sum(map(len, tags)) * (_pattern(pattern).weight + 1) > MOST_STEPS:
        raise PolicyError(
            f"regex:{pattern} matches {len(tags)} tags, too many to order by such a pattern; expected one that is "
            "simpler or matches fewer"
        )


def _left_over(pattern: str, tag: str) -> str:
    """The tag without what the pattern matches; all of it if nothing would be left."""
    return tag.replace(_pattern(pattern).find(tag) or "", "", 1) or tag

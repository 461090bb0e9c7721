"""What a webhook reports, whoever sent it: a push to a registry or to a Git repository. Pure.

A payload comes from outside: what is missing or of another type is absent, and a payload without its essential parts
raises a `PayloadError`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec

from homeostat.objects.json import Json, JsonObject

MOST_PUSHES: Final = 1000
"""Of one webhook; a sender that collects more than that splits them."""
_LONGEST: Final = 1024


class PayloadError(ValueError):
    """The body is not what this sender sends."""


class ImagePush(msgspec.Struct, frozen=True):
    """A push to a repository of a registry. `registry` is its host and port, empty if the sender does not say."""

    registry: str
    repository: str
    tag: str = ""
    digest: str = ""


class GitPush(msgspec.Struct, frozen=True):
    """A push to a Git repository. `commit` is empty for a branch or tag that was deleted."""

    repository: str
    """Such as `acme/shop`."""
    urls: tuple[str, ...]
    """Those that the repository can be cloned from."""
    ref: str
    """Such as `refs/heads/main`."""
    commit: str = ""

    @property
    def branch(self) -> str:
        """Empty for a tag."""
        return self.ref.removeprefix("refs/heads/") if self.ref.startswith("refs/heads/") else ""


Headers = Mapping[str, str]
"""By lower-case name."""


def part(value: Json, *path: str) -> JsonObject:
    """The object at a path; empty if there is none."""
    for each in path:
        value = value.get(each) if isinstance(value, dict) else None
    return value if isinstance(value, dict) else {}


def text(value: Json, name: str) -> str:
    """The text of a member; empty if there is none. Raises `PayloadError` for one that is too long."""
    found = value.get(name) if isinstance(value, dict) else None
    if isinstance(found, str) and len(found) > _LONGEST:
        raise PayloadError(f'"{name}" has more than {_LONGEST} characters')
    return found if isinstance(found, str) else ""


def items(value: Json, name: str) -> list[JsonObject]:
    """The objects of a list. Raises `PayloadError` if there are too many."""
    found = value.get(name) if isinstance(value, dict) else None
    listed = [each for each in found if isinstance(each, dict)] if isinstance(found, list) else []
    if len(listed) > MOST_PUSHES:
        raise PayloadError(f'"{name}" has {len(listed)} items; at most {MOST_PUSHES} are read')
    return listed


def required(value: Json, name: str) -> str:
    found = text(value, name)
    if not found:
        raise PayloadError(f'"{name}" is missing; is this webhook of another sender?')
    return found


def unique(pushes: list[ImagePush]) -> list[ImagePush]:
    return list(dict.fromkeys(pushes))

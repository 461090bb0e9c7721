"""An image reference split into registry, path, tag and digest. Pure.

`parse_image` never fails: it splits whatever a Pod contains. `check_image` is for callers that then contact a registry.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final, NamedTuple

HUB: Final = "docker.io"
_HUB_NAMES: Final = (HUB, "index.docker.io")
_LONGEST: Final = 255
_LONGEST_KEPT: Final = 1000
"""Longer than any image of a registry. A Pod may name one of a megabyte."""
_is_registry = re.compile(
    r"(?:[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?(?:\.[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?)*|\[[0-9A-Fa-f:.]+\])"
    r"(?::[0-9]{1,5})?",
    re.ASCII,
).fullmatch
_is_path = re.compile(
    r"[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*(?:/[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*)*", re.ASCII
).fullmatch
_is_tag = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,127}", re.ASCII).fullmatch
_is_digest = re.compile(r"sha256:[0-9a-f]{64}|sha512:[0-9a-f]{128}", re.ASCII).fullmatch


class InvalidImageError(ValueError):
    """The text is not a reference of an image."""


class Image(NamedTuple):
    repository: str
    """With its registry: `docker.io/library/nginx`."""
    tag: str
    digest: str

    def __str__(self) -> str:
        return f"{self.repository}{self.tag and f':{self.tag}'}{self.digest and f'@{self.digest}'}"

    @property
    def registry(self) -> str:
        """Host, and port where one is given."""
        return self.repository.partition("/")[0]

    @property
    def path(self) -> str:
        """Within the registry: `library/nginx`."""
        return self.repository.partition("/")[2]


def parse_image(reference: str) -> Image:
    """Never fails: an invalid reference gives a repository that no registry has."""
    return _kept(reference) if len(reference) <= _LONGEST_KEPT else _split(reference)


def _split(reference: str) -> Image:
    rest, _, digest = reference.partition("@")
    path, colon, tag = rest.rpartition(":")
    if not colon or "/" in tag:
        path, tag = rest, ""
    first, slash, below = path.partition("/")
    if not slash:
        return Image(f"{HUB}/library/{path}", tag, digest)
    if first in _HUB_NAMES:
        return Image(f"{HUB}/{below if '/' in below else f'library/{below}'}", tag, digest)
    if "." in first or ":" in first or first == "localhost":
        return Image(f"{first}/{below}", tag, digest)
    return Image(f"{HUB}/{path}", tag, digest)


_kept = lru_cache(8192)(_split)


def check_image(reference: str) -> Image:
    """As `parse_image`, and `InvalidImageError` unless every part is one that a registry accepts."""
    image = parse_image(reference)
    shown = f"{reference[:_LONGEST]!r}"
    if not _is_registry(image.registry):
        raise InvalidImageError(f"{shown} does not name a registry; expected host[:port]/path[:tag][@digest]")
    if not _is_path(image.path) or len(image.repository) > _LONGEST:
        raise InvalidImageError(f"{shown} has no valid path; lower-case letters, digits and . _ - are allowed")
    if image.tag and not _is_tag(image.tag):
        raise InvalidImageError(f"{shown} has an invalid tag")
    has_parts = (":" in reference.rpartition("/")[2].partition("@")[0], "@" in reference)
    if (has_parts[0] and not image.tag) or (has_parts[1] and not _is_digest(image.digest)):
        raise InvalidImageError(f"{shown} has an empty tag, or a digest that is not sha256 or sha512 in lower-case hex")
    return image

"""An image reference, taken apart as far as policies ask: registry with path, tag and digest. Pure."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

_HUB = "docker.io"


class Image(NamedTuple):
    repository: str
    """With its registry: `docker.io/library/nginx`."""
    tag: str
    digest: str

    def is_from(self, place: str) -> bool:
        """Whether it lies in a registry, or below a path of one: whole steps count, `ghcr.io/acme` is not
        `ghcr.io/acme-labs`.
        """
        return self.repository == place or self.repository.startswith(f"{place}/")


@lru_cache(8192)
def parse_image(reference: str) -> Image:
    """Never fails: what is no reference has a repository that no registry holds."""
    rest, _, digest = reference.partition("@")
    path, colon, tag = rest.rpartition(":")
    if not colon or "/" in tag:
        path, tag = rest, ""
    first, slash, below = path.partition("/")
    if not slash:
        return Image(f"{_HUB}/library/{path}", tag, digest)
    if "." in first or ":" in first or first == "localhost":
        return Image(f"{first}/{below}", tag, digest)
    return Image(f"{_HUB}/{path}", tag, digest)

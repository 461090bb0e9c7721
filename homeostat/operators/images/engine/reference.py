"""The image that an annotation names, with the host of its registry. Pure."""

from __future__ import annotations

from typing import Final

DEFAULT_REGISTRY: Final = "https://index.docker.io/v1/"
_HUB: Final = "docker.io"


def full_reference(registry_url: str, image_name: str) -> str:
    """`image_name` with the registry's host before it, unless it has it already or the registry is Docker Hub."""
    host = registry_host(registry_url)
    if _HUB in registry_url or not host or image_name.startswith(f"{host}/"):
        return image_name
    return f"{host}/{image_name}"


def registry_host(registry_url: str) -> str:
    """Host, and port where the URL has one."""
    return registry_url.rpartition("://")[2].partition("/")[0]


def untagged(image: str) -> str:
    """As it is written, without tag and digest."""
    name = image.partition("@")[0]
    head, colon, tail = name.rpartition(":")
    return head if colon and "/" not in tail else name

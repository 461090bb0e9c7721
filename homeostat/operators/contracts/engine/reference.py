"""References to bundles in registries or directories, and to images. Pure."""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import unquote

import msgspec

from homeostat.objects.memory.cache import cached

OCI: Final = "oci://"
FILE: Final = "file://"
_is_tag = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,127}", re.ASCII).fullmatch
_is_digest = re.compile(r"sha256:[0-9a-f]{64}|sha512:[0-9a-f]{128}", re.ASCII).fullmatch
# Each match begins where a word begins: a search from every character would take cubic time.
_user_infos = re.compile(r"(?<![^/@\s])[^/@\s]++@(?!sha\d+:)").sub


class InvalidReferenceError(ValueError):
    """The text is not a reference to a registry."""


class OciReference(msgspec.Struct, frozen=True):
    registry: str
    repository: str
    tag: str = ""
    digest: str = ""

    @property
    def name(self) -> str:
        """The reference without tag and digest."""
        return f"{self.registry}/{self.repository}"


def is_oci(ref: str) -> bool:
    return ref.startswith(OCI)


def location(ref: str) -> str:
    """Return a reference without its scheme: a path, or registry/repository."""
    return ref.removeprefix(OCI) if is_oci(ref) else ref.removeprefix(FILE)


def registry_reference(ref: str) -> str:
    """Return what a registry understands of `spec.contractRef.oci`: without a scheme, and with escapes decoded."""
    return unquote(location(ref)) if "%" in ref else location(ref)


def has_tag_or_digest(ref: str) -> bool:
    """Return whether a tag or digest is given; `registry:5000/a/b` has neither."""
    return "@" in ref or ref.rfind(":") > ref.rfind("/")


@cached(8192)
def last_segment(ref: str) -> str:
    """Return the last path segment: `weir` of `oci://registry.example.org/c/weir:1.0.0`."""
    return parse_parts(location(ref)).repository.rstrip("/").rpartition("/")[2]


def parse_oci(text: str) -> OciReference:
    """Parse registry/repository[:tag][@digest]; raises `InvalidReferenceError`."""
    found = parse_parts(text)
    if not text:
        raise InvalidReferenceError("the reference is empty; expected registry/repository")
    if not found.registry or not found.repository:
        raise InvalidReferenceError(f'"{masked(text)}" has no repository; expected registry/repository[:tag][@digest]')
    if found.tag and not _is_tag(found.tag):
        raise InvalidReferenceError(f'"{masked(text)}" has an invalid tag; letters, digits and . _ - are allowed')
    if found.digest and not _is_digest(found.digest):
        raise InvalidReferenceError(f'"{masked(text)}" has an invalid digest; expected sha256: and 64 hex digits')
    return found


def masked(text: str) -> str:
    """The text without a user and a password before the registry, which no reference may have."""
    return _user_infos(lambda found: "***@" if ":" in found[0] else found[0], text)


def parse_parts(text: str) -> OciReference:
    """Split a reference without checking it; a text without a slash is the repository."""
    rest, _, digest = text.partition("@")
    if rest.rfind(":") > rest.rfind("/"):
        rest, _, tag = rest.rpartition(":")
    else:
        tag = ""
    registry, slash, repository = rest.partition("/")
    return OciReference(registry, repository, tag, digest) if slash else OciReference("", rest, tag, digest)

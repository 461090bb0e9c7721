"""Names and hashes as the controllers of Kubernetes form them. Pure."""

from __future__ import annotations

from typing import Final

from homeostat.objects.json import Json, encode, ordered_by_name, without_nulls

ALPHABET: Final = "bcdfghjklmnpqrstvwxz2456789"
"""Without vowels and what looks alike, so that no words appear."""
_LONGEST_STEM: Final = 58
_LONGEST_NAME: Final = 253


def suffixed(stem: str, suffix: str) -> str:
    """The name of a Pod: the server shortens the stem of a generated name in the same way."""
    return f"{stem[: _LONGEST_STEM - 1]}-{suffix}" if len(stem) >= _LONGEST_STEM else f"{stem}-{suffix}"


def hashed(stem: str, digest: str) -> str:
    """The name of a ReplicaSet or a ControllerRevision; a long stem is cut so that the name is valid."""
    return f"{stem[: _LONGEST_NAME - 1 - len(digest)].rstrip('-.')}-{digest}"


def suffix_of(number: int) -> str:
    """Five characters for a random number."""
    characters = []
    for _ in range(5):
        number, place = divmod(number, len(ALPHABET))
        characters.append(ALPHABET[place])
    return "".join(characters)


def hash_of(value: Json, collisions: int = 0) -> str:
    """A short hash of a template, such as `7d4b9c6f5`. Equal templates have equal hashes whatever their order."""
    text = encode(ordered_by_name(without_nulls(value))) + (str(collisions).encode() if collisions else b"")
    number = 0x811C9DC5
    for byte in text:
        number = ((number ^ byte) * 0x01000193) & 0xFFFFFFFF
    return "".join(ALPHABET[ord(each) % len(ALPHABET)] for each in str(number))

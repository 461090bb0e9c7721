"""The listeners of a process and the faces behind each: all share one port, unless one has its own. Pure.

Promises, each tested: faces of the same address share one listener; two faces with the same path never do; a configured
port is required, and a default port is not.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import msgspec

from homeostat.runtime.faces.face import Face

SHARED = "faces"
"""Names the option of the shared port, so no face may have this name."""


class FaceError(Exception):
    """The faces of a process cannot be served as configured. The text says why, and what to do."""


class Place(NamedTuple):
    """Port 0 takes a free one."""

    host: str
    port: int


class FaceChoice(msgspec.Struct, frozen=True, kw_only=True):
    """The configuration of the faces of a process."""

    host: str = "127.0.0.1"
    """The address of faces that have none of their own."""
    shared: Place | None = None
    """The port of faces that have none of their own."""
    own: Mapping[str, Place] = msgspec.field(default_factory=dict)
    """By the name of the face."""
    without: frozenset[str] = frozenset()
    only_own: bool = False
    """Serve only faces that have an address of their own."""


class Listener(msgspec.Struct, frozen=True, kw_only=True):
    place: Place
    faces: tuple[Face, ...]
    is_required: bool
    """Whether a port in use is an error; otherwise the process goes on without these faces."""
    is_shared: bool = False
    """Whether the address was configured for all faces."""

    @property
    def option(self) -> str:
        """Chooses another port."""
        return port_option(SHARED if self.is_shared or len(self.faces) > 1 else self.faces[0].name)


def port_option(name: str) -> str:
    return f"--{name}-port"


def arrange(faces: Iterable[Face], choice: FaceChoice) -> list[Listener]:
    """`FaceError` for options of unknown faces, and for faces with conflicting paths."""
    offered = list(faces)
    _check(offered, choice)
    groups: dict[tuple[Place, str], list[Face]] = {}
    required: set[tuple[Place, str]] = set()
    for face in offered:
        if face.name in choice.without or (choice.only_own and face.name not in choice.own):
            continue
        place = choice.own.get(face.name) or choice.shared or Place(choice.host, face.port)
        # Port 0 for one face is not shared with others.
        key = place, face.name if place.port == 0 and face.name in choice.own else ""
        groups.setdefault(key, []).append(face)
        if face.name in choice.own or choice.shared is not None:
            required.add(key)
    return [
        Listener(
            place=key[0],
            faces=_apart(group),
            is_required=key in required,
            is_shared=choice.shared is not None and any(each.name not in choice.own for each in group),
        )
        for key, group in groups.items()
    ]


def by_prefix(path: str, prefixes: Mapping[str, str]) -> str:
    """The name of the face with the longest prefix of the path; empty for none."""
    found = (each for each in prefixes if path == each or path.startswith(f"{each}/"))
    longest = max(found, key=len, default="")
    return prefixes.get(longest) or prefixes.get("/", "")


def prefixes_of(faces: Iterable[Face]) -> dict[str, str]:
    """The name of the face by prefix."""
    offered = list(faces)
    found = {_trimmed(prefix): face.name for face in offered for prefix in face.prefixes}
    alone = ((_trimmed(prefix), face.name) for face in offered for prefix in face.alone)
    free = [(prefix, name) for prefix, name in alone if not by_prefix(prefix, found)]
    for prefix, name in free:
        found.setdefault(prefix, name)
    return found


def _apart(faces: Sequence[Face]) -> tuple[Face, ...]:
    taken: dict[str, Face] = {}
    for face in faces:
        for prefix in face.prefixes:
            other = taken.setdefault(_trimmed(prefix), face)
            if other is not face:
                raise FaceError(
                    f'the faces "{other.name}" and "{face.name}" both answer at {prefix}; '
                    f"give one a port of its own with {port_option(face.name)}"
                )
    return tuple(faces)


def _trimmed(prefix: str) -> str:
    return prefix.rstrip("/") or "/"


def _check(faces: Sequence[Face], choice: FaceChoice) -> None:
    names = [each.name for each in faces]
    for name in names:
        if name == SHARED or names.count(name) > 1:
            raise FaceError(f'two faces of this process are named "{name}"; rename one')
    for name in choice.own:
        if name not in names:
            there = f"there are: {', '.join(names)}" if names else "they have none"
            raise FaceError(f'{port_option(name)}: no operator that is to run has a face "{name}"; {there}')

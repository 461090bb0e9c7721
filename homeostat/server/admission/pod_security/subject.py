"""What the checks of the Pod Security Standards look at, and how they word what they find. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from homeostat.objects.json import JsonObject
from homeostat.server.kinds.builtins.members import struct, structs, text


class Finding(NamedTuple):
    reason: str
    detail: str

    def __str__(self) -> str:
        return f"{self.reason} ({self.detail})" if self.detail else self.reason


class Subject(NamedTuple):
    """The metadata and the spec of a Pod or of a template for Pods."""

    metadata: JsonObject
    spec: JsonObject
    containers: tuple[JsonObject, ...]
    """All kinds of them: they begin with the init containers."""

    @property
    def security(self) -> JsonObject:
        return struct(self.spec, "securityContext")

    @property
    def is_windows(self) -> bool:
        return text(struct(self.spec, "os"), "name") == "windows"

    @property
    def annotations(self) -> JsonObject:
        return struct(self.metadata, "annotations")


def subject_of(pod: JsonObject) -> Subject:
    spec = struct(pod, "spec")
    kinds = ("initContainers", "containers", "ephemeralContainers")
    return Subject(struct(pod, "metadata"), spec, tuple(each for kind in kinds for each in structs(spec, kind)))


def names_of(containers: Iterable[JsonObject]) -> list[str]:
    return [text(each, "name") for each in containers]


def quoted(names: Iterable[str]) -> str:
    return ", ".join(f'"{each}"' for each in names)


def counted(word: str, number: int) -> str:
    return word if number == 1 else f"{word}s"


def listed(word: str, names: Sequence[str]) -> str:
    """Such as `containers "a", "b"`."""
    return f"{counted(word, len(names))} {quoted(names)}"


def setters(subject: Subject, is_bad: Callable[[JsonObject], bool]) -> str:
    """The Pod and the containers whose security context is bad; empty if none is."""
    bad = [each for each in subject.containers if is_bad(struct(each, "securityContext"))]
    found = ["pod"] if is_bad(subject.security) else []
    return " and ".join([*found, *([listed("container", names_of(bad))] if bad else [])])

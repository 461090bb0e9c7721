"""What is remembered of inputs between reconciliations, in memory only.

A source that has not changed is not read again, but it is compared again, for the resources may have changed. The
server's answers to each declaration are kept, too.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field

from homeostat.operators.actions.inputs.api import ResourceInput
from homeostat.operators.actions.inputs.decide import Key
from homeostat.operators.actions.inputs.plugins.reading import Reading
from homeostat.operators.actions.inputs.wanted import Found

Version = tuple[str, int, str]
"""Of a resource as it was applied: its uid, its generation, and what it was applied for."""


@dataclass(slots=True)
class Memory:
    """Of one input."""

    asked: str = ""
    """The digest of what was asked of the source."""
    reading: Reading | None = None
    digests: dict[Key, str] = field(default_factory=dict)
    """Of what was read."""
    settled: dict[Key, Version] = field(default_factory=dict)
    refused: dict[Key, tuple[str, str, float]] = field(default_factory=dict)
    """What for, why and when."""


class Memories:
    """By the uid of the input."""

    def __init__(self) -> None:
        self._memories: dict[str, Memory] = {}

    def of(self, obj: ResourceInput) -> Memory:
        return self._memories.setdefault(obj.metadata.uid, Memory())

    def forget_others(self, uids: Collection[str]) -> None:
        """All inputs but these are gone."""
        self._memories = {uid: memory for uid, memory in self._memories.items() if uid in uids}


def version_of(found: Found, digest: str) -> Version:
    return found.metadata.uid, found.metadata.generation, digest

"""What this process remembers of each input between reconciliations.

An unchanged source is not read again; its declarations are compared again, because resources may have changed. The
server's answers to each declaration are remembered too.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field

from homeostat.operators.actions.inputs.api import ResourceInput
from homeostat.operators.actions.inputs.decide import Key
from homeostat.operators.actions.inputs.plugins.reading import Reading
from homeostat.operators.actions.inputs.wanted import Found

Version = tuple[str, int, str]
"""An applied resource: its uid, its generation, and the digest of its declaration."""


@dataclass(slots=True)
class Memory:
    """What is remembered of one input."""

    asked: str = ""
    """The digest of the plugin and its configuration."""
    reading: Reading | None = None
    digests: dict[Key, str] = field(default_factory=dict)
    """The digests of the declarations that were read."""
    settled: dict[Key, Version] = field(default_factory=dict)
    refused: dict[Key, tuple[str, str, float]] = field(default_factory=dict)
    """Refused declarations: digest, message and time."""


class Memories:
    """Memories by the uid of the input."""

    def __init__(self) -> None:
        self._memories: dict[str, Memory] = {}

    def of(self, obj: ResourceInput) -> Memory:
        return self._memories.setdefault(obj.metadata.uid, Memory())

    def forget_others(self, uids: Collection[str]) -> None:
        """Forgets all inputs but these."""
        self._memories = {uid: memory for uid, memory in self._memories.items() if uid in uids}


def version_of(found: Found, digest: str) -> Version:
    return found.metadata.uid, found.metadata.generation, digest

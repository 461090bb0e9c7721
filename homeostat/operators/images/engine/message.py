"""The message of a commit: a first line as the original writes it, then a line for each change. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

SUBJECT: Final = "chore(refs): gitops-operator updating image tags"
_NO_TAG: Final = "(no tag)"


def commit_message(changes: Iterable[tuple[str, str, str, str]]) -> str:
    """From `NAMESPACE/NAME`, image, old tag and new tag of each change."""
    lines = dict.fromkeys(f"{key}: {image} {old or _NO_TAG} -> {new}" for key, image, old, new in changes)
    return "\n".join([SUBJECT, "", *lines]) + "\n"

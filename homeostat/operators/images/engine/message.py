"""The message of a commit: a first line as the original writes it, then a line for each change. Pure.

Tags come from files that anybody may have written. A change stays on its line, so that none of them can add a trailer
such as `Signed-off-by` to a commit of the operator.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

SUBJECT: Final = "chore(refs): gitops-operator updating image tags"
_NO_TAG: Final = "(no tag)"
_breaks = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]+").sub


def commit_message(changes: Iterable[tuple[str, str, str, str]]) -> str:
    """From `NAMESPACE/NAME`, image, old tag and new tag of each change."""
    lines = dict.fromkeys(_breaks(" ", f"{key}: {image} {old or _NO_TAG} -> {new}") for key, image, old, new in changes)
    return "\n".join([SUBJECT, "", *lines]) + "\n"

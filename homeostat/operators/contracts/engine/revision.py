"""Names, labels and hashes of PactoRevisions, and the resolution policy of a reference. Pure."""

from __future__ import annotations

import re
from hashlib import sha256
from typing import Final, Literal

from homeostat.operators.contracts.engine.reference import location

PACTO_LABEL: Final = "pacto.trianalab.io/pacto"
VERSION_LABEL: Final = "pacto.trianalab.io/version"
_LONGEST_NAME: Final = 253
_LONGEST_LABEL: Final = 63
_HASH_DIGITS: Final = 7
_not_name = re.compile(r"[^a-z0-9.-]").sub
_not_label = re.compile(r"[^A-Za-z0-9._-]").sub

ResolutionPolicy = Literal["", "Latest", "PinnedTag", "PinnedDigest"]


def contract_hash(data: bytes) -> str:
    """Return the hash of the contract file as it was pulled, or of the inline text."""
    return sha256(data).hexdigest()


def revision_name(pacto: str, version: str, digest: str) -> str:
    """Return a name such as `quay-1-0-0-abcdef1`; it is valid for any version and always ends with the hash."""
    middle = _not_name("-", version.replace(".", "-").lower()) or "unknown"
    tail = f"-{digest[:_HASH_DIGITS]}"
    return f"{pacto}-{middle}"[: _LONGEST_NAME - len(tail)].rstrip("-.") + tail


def revision_labels(pacto: str, version: str) -> dict[str, str]:
    return {PACTO_LABEL: label_value(pacto), VERSION_LABEL: label_value(version)}


def label_value(text: str) -> str:
    """Return the text with characters that a label cannot contain replaced."""
    return _not_label("_", text)[:_LONGEST_LABEL].strip("._-")


def resolution_policy(ref: str) -> ResolutionPolicy:
    name = location(ref)
    if not name:
        return ""
    if "@" in name:
        return "PinnedDigest"
    return "PinnedTag" if name.rfind(":") > name.rfind("/") else "Latest"

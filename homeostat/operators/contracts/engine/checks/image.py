"""Compares the running image with the image that a contract declares. Pure."""

from __future__ import annotations


def is_image(declared: str, running: str) -> bool:
    """Return whether the images match; a declared image without tag and digest matches any tag of it."""
    if declared == running:
        return True
    wanted, found = _qualified(declared), _qualified(running)
    if wanted == found:
        return True
    name = wanted.rpartition("/")[2]
    return ":" not in name and "@" not in name and wanted == _repository(found)


def _qualified(ref: str) -> str:
    first, slash, _ = ref.partition("/")
    if not slash:
        return f"docker.io/library/{ref}"
    return ref if "." in first or ":" in first else f"docker.io/{ref}"


def _repository(ref: str) -> str:
    """Return the reference without its digest, or else without its tag."""
    path, at, _ = ref.partition("@")
    if at:
        return path
    lead, slash, name = ref.rpartition("/")
    return f"{lead}{slash}{name.partition(':')[0]}"

"""Whether the image that runs is the one that a contract names. Pure."""

from __future__ import annotations


def is_image(declared: str, running: str) -> bool:
    """A declared image without tag and digest takes any; short names are Docker Hub's."""
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
    """Without its digest, or else without its tag."""
    path, at, _ = ref.partition("@")
    if at:
        return path
    lead, slash, name = ref.rpartition("/")
    return f"{lead}{slash}{name.partition(':')[0]}"

"""The file of a manifests repository that an annotation names. Pure."""

from __future__ import annotations

from typing import Final

from homeostat.operators.images.engine.places import ManifestError

_LONGEST: Final = 4096


def check_path(path: str) -> str:
    """The path in the form that Git uses; `ManifestError` if it leaves the repository or names no file."""
    steps = [step for step in path.split("/") if step not in ("", ".")]
    if path.startswith("/") or ".." in steps:
        raise ManifestError(f"deployment_path {path!r} leaves the repository; give a path below its root")
    if not steps or path.endswith("/") or len(path) > _LONGEST or "\0" in path:
        raise ManifestError(f"deployment_path {path[:100]!r} names no file; give the path of a manifest")
    if any(step.casefold() == ".git" for step in steps):
        raise ManifestError(f"deployment_path {path!r} is inside .git; give the path of a manifest")
    return "/".join(steps)

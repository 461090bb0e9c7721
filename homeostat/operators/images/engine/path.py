"""The file of a manifests repository that an annotation names. Pure."""

from __future__ import annotations

from typing import Final

from homeostat.operators.images.engine.places import ManifestError

_LONGEST: Final = 4096


def check_path(path: str) -> str:
    """The path in the form that Git uses; `ManifestError` if it leaves the repository or names no file. Links are not
    followed, so `a/..` is where it began.
    """
    steps = list[str]()
    for step in path.split("/"):
        if path.startswith("/") or (step == ".." and not steps):
            raise ManifestError(f"deployment_path {path[:100]!r} leaves the repository; give a path below its root")
        if step == "..":
            steps.pop()
        elif step not in ("", "."):
            steps.append(step)
    if not steps or path.endswith(("/", "/.", "/..")) or len(path) > _LONGEST or "\0" in path:
        raise ManifestError(f"deployment_path {path[:100]!r} names no file; give the path of a manifest")
    if any(step.casefold() == ".git" for step in steps):
        raise ManifestError(f"deployment_path {path[:100]!r} is inside .git; give the path of a manifest")
    return "/".join(steps)

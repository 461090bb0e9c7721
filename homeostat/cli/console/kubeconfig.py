"""Which kubeconfig a command reads."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from homeostat.cli.plane.data_directory import default_data
from homeostat.client.endpoint.endpoint import KubeconfigError


def kubeconfig_paths(named: str) -> list[Path]:
    """The first that applies: the option, KUBECONFIG, the file of the data directory, ~/.kube/config."""
    if named:
        return _existing([Path(named).expanduser()], "--kubeconfig")
    if listed := os.environ.get("KUBECONFIG"):
        return _existing([Path(each) for each in listed.split(os.pathsep) if each], "KUBECONFIG")
    own, usual = default_data() / "kubeconfig", Path("~/.kube/config").expanduser()
    if own.exists():
        return [own]
    if usual.exists():
        return [usual]
    raise KubeconfigError(
        f"there is no kubeconfig at {own} or {usual}; start a plane (homeostat up), or name a kubeconfig with "
        "--kubeconfig or KUBECONFIG"
    )


def shown_paths(paths: Sequence[Path]) -> str:
    return os.pathsep.join(map(str, paths))


def _existing(paths: list[Path], source: str) -> list[Path]:
    """`KubeconfigError` if none of the files exists."""
    if any(path.exists() for path in paths):
        return paths
    raise KubeconfigError(
        f"{source} names {shown_paths(paths)}, which does not exist; start the plane that writes it "
        f"(homeostat up), or correct {source}; without it, the kubeconfig of the data directory is used"
    )

"""Deployments that share a manifests repository, a branch and a key: one pass and one commit for all of them. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from homeostat.operators.images.engine.annotations import Settings, Tracked


class Group(NamedTuple):
    """The Secret is part of it: what one may push, another may not."""

    repository: str
    branch: str
    secret_namespace: str
    secret_name: str


def group_of(settings: Settings) -> Group:
    return Group(
        settings.manifest_repository, settings.observe_branch, settings.ssh_key_namespace, settings.ssh_key_name
    )


def grouped(tracked: Iterable[Tracked]) -> dict[Group, list[Tracked]]:
    """Those that are enabled, in their order."""
    found: dict[Group, list[Tracked]] = {}
    for each in tracked:
        if each.settings.enabled:
            found.setdefault(group_of(each.settings), []).append(each)
    return found

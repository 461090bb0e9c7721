"""What a pass observes of the Deployments of one manifests repository and branch. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

import msgspec

from homeostat.operators.images.engine.annotations import Tracked
from homeostat.operators.images.engine.build import Build
from homeostat.operators.images.engine.rules import Rules


class Problem(msgspec.Struct, frozen=True):
    """Why something is unknown, for people."""

    text: str
    reason: str = "Failed"
    retry_s: float | None = None
    """When to try again; None for the next interval."""


class Wanted(msgspec.Struct, frozen=True):
    """The tag that is due."""

    tag: str
    commit: str = ""
    """The whole id of the commit that the image is built from; empty where the registry decides."""
    digest: str = ""
    """Of the image, if the file pins digests; empty otherwise."""


class Record(msgspec.Struct, frozen=True):
    """What the operator remembers of a Deployment."""

    tag: str = ""
    """The tag that the file had after our last visit."""
    attempt: str = ""
    """A tag that was being written when we were last heard of."""
    candidate: str = ""
    """The tag that is due, and since when we know it (RFC 3339)."""
    since: str = ""
    pin: str | None = None
    """The tag that is pinned; None if there is no pin."""
    pin_reason: str | None = None
    """Why a person pinned it; None if we did, because of a tag that is not ours."""
    proposed: tuple[str, ...] = ()
    """Tags that we proposed, which a person may have merged."""
    refused: str = ""
    """The tag that a person refused by closing the request."""


class Present(msgspec.Struct, frozen=True):
    digest: str = ""


class Unchecked(msgspec.Struct, frozen=True):
    """Nothing says how to ask the registry."""

    why: str = ""


class Absent(msgspec.Struct, frozen=True):
    """The registry does not have the image. `build` is None where there is no build to ask about."""

    build: Build | None = None


ImageState = Present | Unchecked | Absent | Problem


class Subject(msgspec.Struct, frozen=True):
    """A Deployment that is enabled, and what is known of it."""

    tracked: Tracked
    rules: Rules | Problem
    wanted: Wanted | Problem
    record: Record = Record()


class World(msgspec.Struct, frozen=True):
    now: datetime
    subjects: tuple[Subject, ...]
    files: Mapping[str, bytes | Problem] = msgspec.field(default_factory=dict)
    """By the path as Git writes it."""
    manifests: Problem | None = None
    """Why the manifests repository cannot be read."""

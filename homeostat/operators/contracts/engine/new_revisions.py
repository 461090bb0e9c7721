"""Decides which versions of a repository become PactoRevisions. Pure.

Every tag that is a version has a revision. A tag that now has another digest was overwritten: that is reported once,
because the new revision records the new digest.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec

from homeostat.objects.versions.semver import Version, parse_version, versions_of
from homeostat.operators.contracts.engine.revision import label_value


class Known(msgspec.Struct, frozen=True):
    """A revision that exists; `version` is its label, which may be shortened."""

    version: str
    digest: str = ""


class NewRevision(msgspec.Struct, frozen=True):
    """A revision to create."""

    tag: str
    digest: str
    is_overwritten: bool = False


def plan_new(tags: Mapping[str, str], revisions: Iterable[Known]) -> list[NewRevision]:
    """Return the revisions to create, newest version first; `tags` are digests by tag.

    A tag without a digest is skipped: its digest is not known yet. So is a version that has a revision without a
    digest, because nothing can be compared.
    """
    known: dict[Version | str, set[str]] = {}
    for revision in revisions:
        known.setdefault(_key(revision.version), set()).add(revision.digest)
    found = []
    for _, tag in versions_of(tags):
        digests = known.get(_key(tag), known.get(_key(label_value(tag)), set()))
        if tags[tag] and "" not in digests and tags[tag] not in digests:
            found.append(NewRevision(tag, tags[tag], is_overwritten=bool(digests)))
    return found


def _key(version: str) -> Version | str:
    """Return the version itself, so that `v1.0.0` and `1.0.0` are the same; a label may not be a version any more."""
    return parse_version(version) or version

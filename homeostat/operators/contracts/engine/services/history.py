"""The versions of a service: those that the cluster recorded and those of the registry, as one list. Pure.

`v1.0.0` and `1.0.0` are one version. The cluster's record counts first, and the registry fills what it lacks. A version
is classified by the difference to the one before it, if the bundles of both are at hand.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

import msgspec

from homeostat.objects.versions.semver import Version, parse_version, versions_of
from homeostat.operators.contracts.engine.bundle.bundle import Bundle
from homeostat.operators.contracts.engine.diff.change import Classification, worst


class Recorded(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """One version of a service."""

    version: str
    ref: str = ""
    contract_hash: str = ""
    created_at: str | None = None
    source: Literal["k8s", "oci", "local", "cache"] = msgspec.field(default="k8s")
    digest: str = ""
    classification: Classification | Literal[""] = ""
    is_current: bool = False
    is_inline: bool = msgspec.field(default=False, name="inline")


def latest_version(versions: Iterable[str]) -> str:
    """The highest version, as it is spelled; empty if there is none."""
    found = versions_of(versions)
    return found[0][1] if found else ""


def is_update(latest: str, current: str) -> bool:
    """Whether the latest version is above the one in use. False for texts that are not versions."""
    newest, running = parse_version(latest), parse_version(current)
    return newest is not None and running is not None and newest > running


def merge_versions(recorded: Iterable[Recorded], tags: Mapping[str, str], *, current: str) -> list[Recorded]:
    """Newest first, texts that are no versions last. `tags` are references by tag.

    Of several records of one version, which an overwritten tag leaves behind, the newest one counts.
    """
    found: dict[Version | str, Recorded] = {}
    for each in sorted(recorded, key=lambda each: (each.is_current, each.created_at or ""), reverse=True):
        found.setdefault(_identity(each.version), each)
    for _, tag in versions_of(tags):
        known = found.get(_identity(tag))
        if known is None:
            found[_identity(tag)] = Recorded(version=tag, ref=tags[tag], source="oci")
        elif not known.ref and not known.is_inline:
            found[_identity(tag)] = msgspec.structs.replace(known, ref=tags[tag])
    wanted = _identity(current)
    marked = [msgspec.structs.replace(each, is_current=_identity(each.version) == wanted) for each in found.values()]
    return sorted(marked, key=lambda each: _order(each.version), reverse=True)


def classify_versions(versions: Sequence[Recorded], bundles: Sequence[Bundle | None]) -> list[Recorded]:
    """`versions` are newest first, and so is the result. `bundles` are those of the versions, as far as known."""
    found = []
    for each, new, old in zip(versions, bundles, [*bundles[1:], None], strict=True):
        if old is None or new is None:
            found.append(each)
        else:
            found.append(msgspec.structs.replace(each, classification=classify(old, new)))
    return found


def classify(old: Bundle, new: Bundle) -> Classification:
    # Imported here: it reads OpenAPI documents, and who shows a history does not always compare.
    from homeostat.operators.contracts.engine.diff.compare import diff_contracts

    return worst(each.classification for each in diff_contracts(old, new))


def find_version(versions: Iterable[Recorded], wanted: str) -> Recorded | None:
    return next((each for each in versions if _identity(each.version) == _identity(wanted)), None)


def _identity(version: str) -> Version | str:
    return parse_version(version) or version


def _order(text: str) -> tuple[bool, Version, str]:
    version = parse_version(text)
    return version is not None, version or Version(0, 0, 0), text

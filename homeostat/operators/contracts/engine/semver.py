"""The versions of `objects/versions`, which contracts compare. Pure."""

from homeostat.objects.versions.semver import Version, parse_version, versions_of

__all__ = ["Version", "parse_version", "versions_of"]

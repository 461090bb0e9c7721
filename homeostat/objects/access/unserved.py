"""Resources that roles name and no server serves: whom somebody may impersonate, and who signs certificates. Pure."""

from __future__ import annotations

from typing import Final

_GROUPS: Final = {
    "users": "",
    "groups": "",
    "uids": "authentication.k8s.io",
    "userextras": "authentication.k8s.io",
    "signers": "certificates.k8s.io",
}


def unserved_resource(word: str) -> tuple[str, str] | None:
    """Group and plural of `users` or `signers.certificates.k8s.io`; None for other words."""
    plural, _, given = word.lower().partition(".")
    group = _GROUPS.get(plural)
    return (group, plural) if group is not None and given in ("", group) else None

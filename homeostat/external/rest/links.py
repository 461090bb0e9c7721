"""The header `Link` (RFC 8288), which leads from one page of a list to the next. Pure."""

from __future__ import annotations

import re

# Possessive quantifiers and atomic groups throughout, so that the time is linear in the length of a hostile header.
_PARAMETER = r';\s*+([\w!#$&+.^`|~*-]++)\s*+(?>(?:=\s*+(?:"((?>(?:[^"\\]|\\.)*))"|([^\s",;]*+))\s*+)?)'
_parameter = re.compile(_PARAMETER)
_link = re.compile(rf"\s*+<([^<>]*+)>\s*+((?>(?:{_PARAMETER})*))(?:,|$)")
_LONGEST_HEADER = 16 << 10


def parse_links(header: str) -> dict[str, str]:
    """Targets by relation, the first one for each. Unreadable parts are skipped."""
    links: dict[str, str] = {}
    at = 0
    while at < min(len(header), _LONGEST_HEADER) and (found := _link.match(header, at)) is not None:
        for name, quoted, bare in _parameter.findall(found[2]):
            if name.lower() == "rel":
                for relation in (quoted or bare).lower().split():
                    links.setdefault(relation, found[1])
        at = found.end()
    return links

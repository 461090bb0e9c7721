"""Verbs of permissions. A role may name any word, so what looks like a typo gets a warning and is no error."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from typing import Final

from homeostat.cli.console.failure import print_warning

_OBJECTS: Final = "get list watch create update patch delete deletecollection"
_SPECIAL: Final = "approve attest bind escalate impersonate sign use"
_PATHS: Final = "head options post put"
_KNOWN: Final = frozenset(f"{_OBJECTS} {_SPECIAL} {_PATHS} *".split())
_SIMILAR: Final = 0.75


def warn_of_typos(verbs: Iterable[str]) -> None:
    for verb in verbs:
        near = get_close_matches(verb.lower(), sorted(_KNOWN), n=1, cutoff=_SIMILAR)
        if near and verb not in _KNOWN:
            print_warning(f'no request has the verb "{verb}"; did you mean "{near[0]}"?')

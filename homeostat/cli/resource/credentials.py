"""Hides literal credentials in the configuration of a plugin before it is printed. Pure.

They should be references to secrets, which are shown. Resources of no8s hold literals, and many people read the logs of
CI.
"""

from __future__ import annotations

import re

from homeostat.external.secrets.credential_patterns import NAMES
from homeostat.objects.json import Json
from homeostat.objects.schema.passwords import HIDDEN

_is_credential = re.compile(NAMES, re.IGNORECASE).search


def shown_value(name: str, value: Json) -> Json:
    """The value of a field with this name."""
    match value:
        case dict():
            return {each: shown_value(each, item) for each, item in value.items()}
        case list():
            return [shown_value(name, item) for item in value]
        case None | "" | bool():
            return value
    return HIDDEN if _is_credential(name) else value

"""The functions of the language, one module a library.

Each library is a tuple of overloads over plain Python functions of values. `STANDARD` is the set that Kubernetes
gives to an expression; a host adds its own beside it.
"""

from __future__ import annotations

from functools import cache

from homeostat.cel.functions.conversions import CONVERSIONS
from homeostat.cel.functions.encoders import ENCODERS
from homeostat.cel.functions.kubernetes.formats import FORMATS
from homeostat.cel.functions.kubernetes.network import NETWORK
from homeostat.cel.functions.kubernetes.quantities import QUANTITIES
from homeostat.cel.functions.kubernetes.semvers import SEMVERS
from homeostat.cel.functions.kubernetes.urls import URLS
from homeostat.cel.functions.lists import LISTS
from homeostat.cel.functions.maths import MATHS
from homeostat.cel.functions.operations import OPERATIONS
from homeostat.cel.functions.optionals import OPTIONALS
from homeostat.cel.functions.regexes import REGEXES
from homeostat.cel.functions.sets import SETS
from homeostat.cel.functions.strings import STRINGS
from homeostat.cel.functions.times import TIMES
from homeostat.cel.registry import Overload, registry


@cache
def standard() -> dict[str, tuple[Overload, ...]]:
    """All functions that every expression has."""
    return registry(
        (
            *OPERATIONS,
            *CONVERSIONS,
            *STRINGS,
            *LISTS,
            *MATHS,
            *SETS,
            *OPTIONALS,
            *TIMES,
            *REGEXES,
            *ENCODERS,
            *URLS,
            *QUANTITIES,
            *NETWORK,
            *FORMATS,
            *SEMVERS,
        )
    )

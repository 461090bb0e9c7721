"""The dashboard as a face: of no operator, and of every process that serves faces.

Where the REST API runs it serves the dashboard itself, because then users of that API log in to it, too. Otherwise the
dashboard is a face of its own, whichever operators run.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Final

from msgspec.structs import replace

from homeostat.runtime.faces.face import Face

NAME: Final = "dashboard"
PLACE: Final = "/dashboard"
DASHBOARD: Final = Face(
    name=NAME,
    title="dashboard",
    prefixes=(PLACE,),
    alone=("/",),
    open="homeostat.web.dashboard.serving:open_app",
    first="homeostat.web.dashboard.login.first:open_first",
    rules="homeostat.operators.dashboard.access:RULES",
    sign_in=f"{PLACE}/login/once",
)


def with_dashboard(faces: Iterable[Face], *, own: Collection[str] = (), without: Collection[str] = ()) -> list[Face]:
    """The faces of a process, and the dashboard if none of them serves it. `own` and `without` name the faces that have
    a port of their own, and those that are not served: without the dashboard, no face serves it among its pages.
    """
    found = list(faces)
    if any(each.name == NAME for each in found):
        return found
    if NAME in without:
        return [DASHBOARD, *map(_without_pages, found)]
    serves = any(serves_dashboard(each) for each in found if each.name not in without)
    return found if serves and NAME not in own else [DASHBOARD, *found]


def serves_dashboard(face: Face) -> bool:
    return any(path == PLACE for _, path in face.pages)


def _without_pages(face: Face) -> Face:
    if not serves_dashboard(face):
        return face
    return replace(face, pages=tuple(each for each in face.pages if each[1] != PLACE), sign_in="")

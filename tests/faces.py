"""Where a plane serves its faces."""

from __future__ import annotations

from homeostat.plane import Plane


def face_url(plane: Plane, name: str) -> str:
    """Empty if it is not served."""
    return next((each.url for each in plane.faces if each.face.name == name), "")

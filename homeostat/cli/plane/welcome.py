"""What `homeostat up` prints when it serves: addresses, the first login, and which operators run."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from homeostat import __version__
from homeostat.cli.operators.choice import asleep_line
from homeostat.cli.operators.faces.serving import face_lines
from homeostat.cli.plane.data_directory import usual_data
from homeostat.cli.plane.program import path_setting
from homeostat.server.access.user import MASTERS

if TYPE_CHECKING:
    from homeostat.plane import Plane

HOUSEKEEPING = "housekeeping"


def welcome(plane: Plane) -> str:
    path = shlex.quote(str(plane.kubeconfig_path))
    return (
        f"Homeostat {__version__} serves the Kubernetes API at {plane.url}\n"
        f"  kubeconfig  {path}\n"
        f"  use it      export {_data(plane)}KUBECONFIG={path}{path_setting()}\n"
        "              kubectl get ns    (without kubectl: homeostat get ns)\n"
        f"{face_lines(plane.faces)}"
        f"{_sign_in_line(plane)}"
        f"{_paused_line(plane)}"
        f"{_awake_line(plane)}"
        f"{asleep_line([each.description.name for each in plane.supervisors if not each.is_awake])}"
        f"{_housekeeping_line(plane)}"
        "  end it      Ctrl-C"
    )


def _data(plane: Plane) -> str:
    """A setting for commands on the data directory, such as `homeostat backup`, unless they find it without one."""
    data = plane.settings.data
    return "" if data == usual_data() else f"HOMEOSTAT_DATA={shlex.quote(str(data))} "


def _sign_in_line(plane: Plane) -> str:
    """The link for the first login. Without credentials there is nothing to log in to."""
    if plane.settings.is_open:
        return ""
    served = next((each for each in plane.faces if each.face.sign_in and each.url), None)
    if served is None:
        return ""
    link = f"{served.url}{served.face.sign_in}?code={plane.sign_in.code}"
    lines = (
        f"  sign in     {link}\n"
        "              (once, on this machine, within 10 minutes; later with a token of\n"
        f"              homeostat token create me --group {MASTERS} --ttl 12h)\n"
    )
    if not served.url.startswith("https:"):
        return lines
    authority = shlex.quote(str(plane.settings.data / "pki" / "ca.crt"))
    return (
        f"{lines}"
        "              The browser warns that it does not know who issued the certificate: this plane did. Go on, or\n"
        f"              import {authority}\n"
    )


def _paused_line(plane: Plane) -> str:
    if not plane.are_effects_paused:
        return ""
    return (
        "  PAUSED      operators do not act: the database was restored from a backup, and the original plane may\n"
        "              still run; to let them act, start with --resume-effects\n"
    )


def _awake_line(plane: Plane) -> str:
    names = [each.description.name for each in plane.supervisors if each.is_awake]
    if HOUSEKEEPING in plane.settings.operators:
        names.append(HOUSEKEEPING)
    return f"  awake       {', '.join(sorted(names))}\n" if names else ""


def _housekeeping_line(plane: Plane) -> str:
    if HOUSEKEEPING in plane.settings.operators:
        return ""
    return (
        "  left out    housekeeping: nothing collects garbage, and deleted namespaces and definitions stay;\n"
        "              it runs with any --operators but none\n"
    )

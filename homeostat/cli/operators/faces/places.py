"""Where faces listen, from the options of `up` and `run`."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click
import msgspec

from homeostat.cli.console.failure import Failure
from homeostat.cli.operators.faces.options import SHARED, FaceOptions, titles

if TYPE_CHECKING:
    from homeostat.runtime.description import Description
    from homeostat.runtime.faces.face import Face
    from homeostat.runtime.faces.listeners import FaceChoice, Listener, Place

_LOOPBACK: Final = "127.0.0.1"


def up_choice(options: FaceOptions, operators: Iterable[Description], *, host: str) -> FaceChoice | None:
    """Where a plane serves faces; None if it serves none. `UsageError`.

    An option about one of our faces is ignored if its operator does not run.
    """
    from homeostat.operators.dashboard import with_dashboard
    from homeostat.runtime.faces.listeners import Place

    described = list(operators)
    faces = [face for each in described for face in each.faces]
    if described:
        faces = with_dashboard(faces, own=options.ports, without=options.without)
    idle = titles().keys() - {face.name for face in faces}
    asked = FaceOptions(
        {name: text for name, text in options.ports.items() if name not in idle}, options.without - idle
    )
    ports = {name: Place(host, _port(name, text)) for name, text in asked.ports.items()}
    return _choice(asked, ports, faces, host=host)


def _choice(options: FaceOptions, places: dict[str, Place], faces: Sequence[Face], *, host: str) -> FaceChoice | None:
    from homeostat.runtime.faces.listeners import FaceChoice, FaceError, arrange

    if SHARED in options.without:
        if places:
            raise click.UsageError(f"--no-{SHARED} serves no face; leave it out, or --{next(iter(places))}-port")
        return None
    shared = places.pop(SHARED, None)
    choice = FaceChoice(host=host, shared=shared, own=places, without=frozenset(options.without))
    try:
        arrange(faces, choice)
    except FaceError as error:
        raise click.UsageError(str(error)) from error
    return choice


def _port(name: str, text: str) -> int:
    if text.isdecimal() and int(text) <= 65535:
        return int(text)
    raise click.UsageError(f"--{name}-port takes a port from 0 to 65535, got {text!r}")


def check_faces(operators: Iterable[Description], environment: Mapping[str, str]) -> None:
    """Report invalid settings of a face before anything is started."""
    from homeostat.runtime.faces.face import check_settings

    for description in operators:
        for face in description.faces:
            try:
                check_settings(face, environment)
            except ValueError as error:
                raise Failure(f"the {face.title}: {error}") from error


class RunFaces(msgspec.Struct, frozen=True):
    """Without certificate files: plain HTTP on loopback, without credentials."""

    listeners: tuple[Listener, ...]
    files: tuple[Path, Path] | None
    secret: tuple[str, str] | None = None
    """Namespace and name of the Secret that the certificate is renewed in; None for its files."""
    has_dashboard: bool = True


def run_faces(
    options: FaceOptions,
    operators: Iterable[Description],
    *,
    is_open: bool,
    cert: Path | None,
    key: Path | None,
    renew_secret: str = "",
) -> RunFaces | None:
    """Where `homeostat run` serves faces; None if no option requests it. `UsageError`."""
    from msgspec.structs import replace

    from homeostat.cli.webhook.renewal import read_secret_name
    from homeostat.operators.dashboard import NAME, with_dashboard
    from homeostat.runtime.faces.listeners import arrange

    secret = read_secret_name(renew_secret, option="--faces-renew-secret") if renew_secret else None
    if secret is not None and (cert is None or key is None):
        raise click.UsageError("--faces-renew-secret needs --faces-cert and --faces-key, the files of that Secret")
    if not (options.ports or is_open or cert or key):
        return None
    places = {name: _address(name, text) for name, text in options.ports.items()}
    faces = with_dashboard(
        [face for each in operators for face in each.faces], own=options.ports, without=options.without
    )
    choice = _choice(options, dict(places), faces, host=_LOOPBACK)
    first = f"--{next(iter(options.ports), SHARED)}-port"
    if is_open and (cert or key):
        raise click.UsageError("--faces-open is plain HTTP; leave it out, or --faces-cert and --faces-key")
    for host, _ in places.values():
        if is_open and not ipaddress.ip_address(host).is_loopback:
            raise click.UsageError(
                f"--faces-open lets in everyone who can connect, and {host} is not a loopback address"
            )
    if not is_open and (cert is None or key is None):
        raise click.UsageError(
            f"{first} needs --faces-cert and --faces-key for TLS; or --faces-open, for this machine alone and in "
            "plain HTTP"
        )
    if choice is None:
        return None
    only_own = bool(choice.own) and choice.shared is None
    files = (cert, key) if cert is not None and key is not None else None
    listeners = tuple(arrange(faces, replace(choice, only_own=only_own)))
    return RunFaces(listeners, files, secret, has_dashboard=NAME not in options.without)


def _address(name: str, text: str) -> Place:
    from homeostat.runtime.faces.listeners import Place

    host, _, port = text.rpartition(":")
    host = (host or _LOOPBACK).strip("[]").replace("localhost", _LOOPBACK)
    try:
        ipaddress.ip_address(host)
        is_fit = port.isdecimal() and int(port) <= 65535
    except ValueError:
        is_fit = False
    if not is_fit:
        raise click.UsageError(f"--{name}-port takes a port, or an IP address and a port as 0.0.0.0:8000; got {text!r}")
    return Place(host, int(port))

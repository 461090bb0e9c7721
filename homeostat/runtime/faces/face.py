"""A face: an HTTP app that an operator serves beside its controllers, for people or for other programs.

    FACES = (
        Face(
            name="hello",
            title="greetings",
            prefixes=("/hello",),
            open=open_hello,
        ),
    )

An operator's module declares its faces as `FACES`. `homeostat up` and `homeostat run` serve them: a face costs a path
prefix until the first request for it arrives, and only then is its app opened.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

import msgspec

from homeostat.client.base import Client
from homeostat.edge.metrics.exposition import Collector
from homeostat.edge.request import Request
from homeostat.edge.server import Answer, Handler
from homeostat.objects.json import JsonObject
from homeostat.runtime.deployment import FaceAdmission
from homeostat.runtime.faces.private import PrivateSecrets
from homeostat.runtime.faces.section import DeclaredSection
from homeostat.runtime.telemetry.state import ReadStates

if TYPE_CHECKING:
    from homeostat.objects.crd.custom_kind import CustomKind
else:  # a start does not import it, and the signature of `Face` needs a type of that name
    CustomKind = Any

PORT: Final = 8000
"""The port that the faces of a process share by default."""

C = TypeVar("C", bound=Collector)
Redeem = Callable[[str], AbstractAsyncContextManager[str]]
"""A context with the token, after which the code is used up; an error in it leaves the code valid."""


class Figures:
    """The metrics of a face: created when the face is first opened, and kept when it is opened again."""

    def __init__(self, include: Callable[[Collector], None]) -> None:
        self._include = include
        self._made: dict[type[Collector], Collector] = {}

    def once(self, make: type[C]) -> C:
        found = self._made.get(make)
        if not isinstance(found, make):
            found = self._made[make] = make()
            self._include(found)
        return found


class TokenFacts(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of a bearer token, without the token. Times are seconds since 1970; `expires` 0 means never."""

    id: str
    user: str
    groups: tuple[str, ...] = ()
    created: int = 0
    expires: int = 0


class Surroundings(msgspec.Struct, frozen=True, kw_only=True):
    """The arguments of an app's `open`."""

    client: Client
    namespace: str
    """The namespace that the app serves, where it also keeps its own objects."""
    within: str = ""
    """The only namespace of which the app may read; empty for all."""
    environment: Mapping[str, str]
    is_open: bool
    """Whether callers are on this machine and need no credentials."""
    identity: Callable[[], str]
    """The identity of this process in the leader election of the face's operator; empty if there is none."""
    leases: str
    """The namespace of the Leases; empty where there is no election."""
    private: PrivateSecrets
    """Secrets that the app keeps for itself, out of reach of its users."""
    figures: Figures
    offered: Callable[[str], object | None] = lambda _: None
    """What the operator of this process offers to the face of this name; None while it sleeps."""
    sections: Callable[[], tuple[DeclaredSection, ...]] = tuple
    """The sections of the dashboard."""
    has_dashboard: bool = True
    """Whether a face that can serve the dashboard among its pages is to do so."""
    operators: ReadStates = list
    """The operators of this process, as they are now."""
    are_effects_paused: bool = False
    """Whether they neither observe nor act, because the store was restored from a backup."""
    tokens: Callable[[], list[TokenFacts]] | None = None
    """The bearer tokens that the control plane of this process has issued; None beside a cluster."""
    data: Path | None = None
    """The data directory of the control plane of this process; None beside a cluster."""
    redeem: Redeem | None = None
    """Exchanges a one-time code for a bearer token of an administrator; empty for an invalid code."""

    def __repr__(self) -> str:
        """Without the environment, which may contain secrets."""
        return f"Surroundings(namespace={self.namespace!r})"


Open = Callable[[Surroundings], AbstractAsyncContextManager[Handler]]
First = Callable[[Request], Awaitable[Answer] | None]
"""Answers a request before the app is open; None leaves it to the app."""
OpenFirst = Callable[[Surroundings], First]
Check = Callable[[Mapping[str, str]], None]
"""Raises `ValueError` for an environment that the face cannot be opened with."""


class FaceRules(msgspec.Struct, frozen=True, kw_only=True):
    """The permissions that a face needs beside those of its operator, as rules of RBAC."""

    cluster: tuple[JsonObject, ...] = ()
    namespace: tuple[JsonObject, ...] = ()
    """In the namespace that it serves."""
    leases: tuple[JsonObject, ...] = ()
    """In the namespace of the process itself, which has its Leases and its private secrets."""


class Face(msgspec.Struct, frozen=True, kw_only=True):
    """`open`, `first`, `kinds`, `rules` and `check` are the objects themselves or references (`package.module:name`)
    that are imported when needed.
    """

    name: str
    """Names its options: `--NAME-port`, `--no-NAME`."""
    title: str
    prefixes: tuple[str, ...]
    """The path prefixes that it serves. The app gets whole paths. `/` serves all paths that no other face serves."""
    open: Open | str
    first: OpenFirst | str | None = None
    """Answers requests before the app is open, where few imports are enough for that. It is imported for the first
    request, too.
    """
    alone: tuple[str, ...] = ()
    """Further prefixes that it serves at an address where no other face serves these paths, as on a port of its own."""
    port: int = PORT
    pages: tuple[tuple[str, str], ...] = ()
    """Title and path of the pages that are printed at the start; by default the title and the first prefix."""
    kinds: tuple[CustomKind, ...] | str = ()
    """The kinds of the app's own records, which are installed with the kinds of its operator."""
    rules: FaceRules | str = FaceRules()
    settings: tuple[str, ...] = ()
    """The environment variables that `check` validates. It is called at the start, if one of them is set."""
    check: Check | str | None = None
    sign_in: str = ""
    """The path of the page that takes a one-time code as `?code=`; printed with a code when a plane starts."""
    switch: str = ""
    """Another name in `--no-NAME`."""
    opened_by: tuple[str, ...] = ()
    """Environment variables of which each opens the face at the start, because it then works without requests."""
    is_signed: bool = False
    """Whether its requests prove their sender, as those of webhooks do. Only such a face answers requests for another
    host where callers need no credentials.
    """
    admission: FaceAdmission | None = None
    """For a face that an API server calls at admission."""

    @property
    def shown(self) -> tuple[tuple[str, str], ...]:
        return self.pages or ((self.title, self.prefixes[0]),)


def opener_of(face: Face) -> Open:
    """Imports the app, which may take some tenths of a second."""
    found: Open = load_reference(face.open) if isinstance(face.open, str) else face.open
    return found


def first_of(face: Face, given: Surroundings) -> First | None:
    """Imports it, which takes some milliseconds."""
    if face.first is None:
        return None
    found: OpenFirst = load_reference(face.first) if isinstance(face.first, str) else face.first
    return found(given)


def rules_of_face(face: Face) -> FaceRules:
    found: FaceRules = load_reference(face.rules) if isinstance(face.rules, str) else face.rules
    return found


def kinds_of_face(face: Face) -> tuple[CustomKind, ...]:
    found: tuple[CustomKind, ...] = load_reference(face.kinds) if isinstance(face.kinds, str) else face.kinds
    return found


def check_settings(face: Face, environment: Mapping[str, str]) -> None:
    """`ValueError` if the face cannot be opened with this environment."""
    if face.check is not None and any(environment.get(each) for each in face.settings):
        check: Check = load_reference(face.check) if isinstance(face.check, str) else face.check
        check(environment)


def load_reference(place: str) -> Any:
    """Imports `package.module:name`."""
    module, _, name = place.partition(":")
    return getattr(import_module(module), name)

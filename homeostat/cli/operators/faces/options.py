"""The options of faces (HTTP apps of operators): `--NAME-port` and `--no-NAME`, and the credentials of `run`.

The options of the faces of our own operators are in the help. Those of other operators are accepted if given.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence, Set
from functools import cache, partial
from pathlib import Path
from typing import Any, Final, TypeVar

import click
import msgspec

F = TypeVar("F", bound=Callable[..., Any])
SHARED: Final = "faces"
"""The name in the options that are about all faces."""
_NAMES: Final = "homeostat.faces.names"
_PARAMS: Final = "homeostat.faces.params"
_GIVEN: Final = "homeostat.faces.given"
_SET: Final = "homeostat.operators.set"
_FILE: Final = click.Path(dir_okay=False, path_type=Path)
_named_by = re.compile(r"--(?:no-(?P<no>[a-z][a-z0-9-]*)|(?P<port>[a-z][a-z0-9-]*)-port)(?:=.*)?", re.DOTALL).fullmatch


class FaceOptions(msgspec.Struct):
    """The given options by name of face: ports, and the faces that are not to be served."""

    ports: dict[str, str]
    without: set[str]


class FaceCommand(click.Command):
    """A command with the options of faces: `--NAME-port` and `--no-NAME`, where NAME is `faces` for all of them."""

    metavar = "PORT"
    port_help = "; 0 takes a free one.  [default: 8000, if it is free]"

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        ctx.meta[_NAMES] = _names_in(args)
        return super().parse_args(ctx, args)

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        if _PARAMS not in ctx.meta:
            declared = super().get_params(ctx)
            # --help stays the last one.
            ours = [*self._face_options(ctx, declared), *_setting_options()]
            ctx.meta[_PARAMS] = [*declared[:-1], *ours, *declared[-1:]]
        found: list[click.Parameter] = ctx.meta[_PARAMS]
        return found

    def aliases(self, name: str) -> list[str]:
        """Other names for the port of a face."""
        return []

    def _face_options(self, ctx: click.Context, declared: Sequence[click.Parameter]) -> list[click.Option]:
        taken = {option for each in declared for option in each.opts}
        known = titles()
        names = dict.fromkeys([SHARED, *known, *ctx.meta.get(_NAMES, ())])
        found = [option for name in names for option in self._options(name, known.get(name, name), taken)]
        return [each for each in found if not taken & {*each.opts}]

    def _options(self, name: str, title: str, taken: Set[str]) -> list[click.Option]:
        what = (
            "all faces (HTTP apps of operators: REST API, dashboard) without a port of their own"
            if name == SHARED
            else f"the {title}"
        )
        aliases = [each for each in self.aliases(name) if each not in taken]
        port = click.Option(
            [f"--{name}-port", *aliases],
            metavar=self.metavar,
            help=f"Port of {what}{self.port_help}",
            expose_value=False,
            callback=partial(_note_port, name),
        )
        no = click.Option(
            list(dict.fromkeys((f"--no-{switches().get(name, name)}", f"--no-{name}"))),
            is_flag=True,
            help=f"Do not serve {'any face' if name == SHARED else what}.",
            expose_value=False,
            callback=partial(_note_without, name),
        )
        return [port, no]


class RunFaceCommand(FaceCommand):
    metavar = "[ADDR:]PORT"
    port_help = "; 0 takes a free one."

    def aliases(self, name: str) -> list[str]:
        return [] if name == SHARED else [f"--{name}"]


def face_options(ctx: click.Context) -> FaceOptions:
    found: FaceOptions = ctx.meta.setdefault(_GIVEN, FaceOptions({}, set()))
    return found


def _note_port(name: str, ctx: click.Context, _: click.Parameter, value: str | None) -> None:
    if value is not None:
        face_options(ctx).ports[name] = value


def _note_without(name: str, ctx: click.Context, _: click.Parameter, value: bool) -> None:
    if value:
        face_options(ctx).without.add(name)


def _names_in(args: Sequence[str]) -> list[str]:
    found = (_named_by(each) for each in args)
    others = {switch: name for name, switch in switches().items()}
    return [others.get(name, name) for each in found if each is not None for name in (each["no"] or each["port"],)]


def setting_environment(ctx: click.Context) -> dict[str, str]:
    """The environment variables that options of operators set."""
    found: dict[str, str] = ctx.meta.get(_SET, {})
    return found


def _setting_options() -> list[click.Option]:
    """The options that our own operators declare: each sets an environment variable of theirs."""
    from homeostat.operators.catalog import OURS, find_operator

    return [
        click.Option(
            [f"--{each.name}"],
            metavar=each.metavar or None,
            is_flag=not each.metavar,
            help=each.help,
            expose_value=False,
            callback=partial(_note_setting, each.variable),
        )
        for name in OURS
        for each in find_operator(name).options
    ]


def _note_setting(variable: str, ctx: click.Context, _: click.Parameter, value: str | bool | None) -> None:
    if value is not None and value is not False:
        ctx.meta.setdefault(_SET, {})[variable] = "true" if value is True else value


@cache
def switches() -> dict[str, str]:
    """The names in `--no-NAME` of our own faces that have another one, by name."""
    from homeostat.operators.catalog import OURS, find_operator

    return {face.name: face.switch for name in OURS for face in find_operator(name).faces if face.switch}


@cache
def titles() -> dict[str, str]:
    """Titles of the faces of our own operators and of the dashboard, by name."""
    from homeostat.operators.catalog import OURS, find_operator
    from homeostat.operators.dashboard import DASHBOARD

    faces = [*(face for name in OURS for face in find_operator(name).faces), DASHBOARD]
    return {face.name: face.title for face in faces}


def credential_options(command: F) -> F:
    """Options for the certificate of faces in a process without a certificate authority of its own."""
    options = (
        click.option(
            "--faces-open",
            "--rest-open",
            "faces_open",
            is_flag=True,
            help="Serve the faces in plain HTTP without credentials; on a loopback address only.",
        ),
        click.option(
            "--faces-cert",
            "--rest-cert",
            "faces_cert",
            type=_FILE,
            help="Certificate to serve the faces with; reloaded when it changes.",
        ),
        click.option("--faces-key", "--rest-key", "faces_key", type=_FILE, help="Key of that certificate."),
        click.option(
            "--faces-renew-secret",
            default="",
            metavar="NS/NAME",
            help="Secret of the certificate: renew it there.  [default: in its files, if ca.crt and ca.key are there]",
        ),
    )
    for option in reversed(options):
        command = option(command)
    return command

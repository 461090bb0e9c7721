"""`homeostat token`: bearer tokens of the plane's data directory; a running plane sees a change within seconds."""

from __future__ import annotations

import re
import time
from datetime import UTC, datetime
from pathlib import Path

import click

from homeostat.cli.console.failure import Failure
from homeostat.cli.plane.data_directory import data_option
from homeostat.client.endpoint.kubeconfig import Endpoint, KubeconfigError, load_endpoint
from homeostat.objects import yaml
from homeostat.objects.time.duration import DurationError, parse_duration
from homeostat.server.access.tokens import TokenFileError, Tokens
from homeostat.server.pki.kubeconfig import kubeconfig

_DAY_S = 86400
_days = re.compile(r"(\d{1,5})([dwy])").fullmatch
_DAYS = {"d": 1, "w": 7, "y": 365}
_BESIDE_A_CERTIFICATE = (
    "With the administrator's kubeconfig, kubectl --token is still the administrator: its certificate prevails. "
    "-o kubeconfig prints one for the token."
)


class Life(click.ParamType[int]):
    """How long, in seconds: `30d`, `2w`, `1y`, `12h`, `1h30m`; 0 for `never`."""

    name = "duration"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> int:
        if isinstance(value, int):
            return value
        text = str(value)
        if text == "never":
            return 0
        if found := _days(text):
            seconds = int(found[1]) * _DAYS[found[2]] * _DAY_S
        else:
            try:
                seconds = parse_duration(text) // 1_000_000_000
            except DurationError:
                self.fail(f"{text!r} is not a time; expected one like 30d, 12h or never", param, ctx)
        if seconds <= 0:
            self.fail(f"{text!r} is over before it begins; for a token without an end say never", param, ctx)
        return seconds


@click.group(short_help="Create, list and revoke bearer tokens.")
def command() -> None:
    """Bearer tokens for people and programs. They are kept as hashes; a running plane sees changes within seconds.

    \b
    Examples:
      homeostat token create ci --group deployers --ttl 30d
      homeostat token list
      homeostat token revoke 3f9a0c11de
    """


@command.command()
@click.argument("name")
@click.option(
    "--group", "groups", multiple=True, metavar="GROUP", help="Group of the user; may be given several times."
)
@click.option("--ttl", type=Life(), default="30d", show_default=True, help="How long it is valid: 30d, 12h, never.")
@click.option(
    "-o",
    "--output",
    type=click.Choice(["token", "kubeconfig"]),
    default="token",
    show_default=True,
    help="Print the token alone, or a kubeconfig with it.",
)
@data_option
def create(name: str, groups: tuple[str, ...], ttl: int, output: str, data: Path) -> None:
    """Make a token for the user NAME and print it, once, alone or in a kubeconfig, on standard output.

    \b
    Examples:
      homeostat token create ci --ttl 12h
      TOKEN=$(homeostat token create alice --group system:masters)
      homeostat token create ci -o kubeconfig > ci.kubeconfig
    """
    for text in (name, *groups):
        if not text.strip() or not text.isprintable():
            raise click.UsageError(f"{text!r} is not a name")
    tokens = _tokens(data)
    administrator = _endpoint(data) if output == "kubeconfig" else None
    now = time.time()
    try:
        text = tokens.create(name, now=now, groups=groups, life_s=ttl)
    except (TokenFileError, OSError) as error:
        raise Failure(str(error)) from error
    end = f"until {_day(now + ttl)}" if ttl else "for ever"
    click.echo(f"valid {end}; it is not shown again", err=True)
    if administrator:
        config = kubeconfig(administrator.server, authority=administrator.authority, credential=text)
        click.echo(yaml.dump(config), nl=False)
    else:
        click.echo(text)
        click.echo(_BESIDE_A_CERTIFICATE, err=True)
    if not groups:
        click.echo(f'"{name}" has no permissions until a RoleBinding or ClusterRoleBinding names it.', err=True)


@command.command("list")
@data_option
def list_tokens(data: Path) -> None:
    """List tokens: their ids and users, never the tokens.

    \b
    Example:
      homeostat token list
    """
    from homeostat.cli.console.table import Table

    try:
        found = _tokens(data).list()
    except (TokenFileError, OSError) as error:
        raise Failure(str(error)) from error
    if not found:
        click.echo("No tokens; make one: homeostat token create NAME", err=True)
        return
    now = time.time()
    table = Table(["ID", "USER", "GROUPS", "CREATED", "EXPIRES"])
    table.print(
        [each.id, each.user, ",".join(each.groups), _day(each.created), _end(each.expires, now)] for each in found
    )


@command.command()
@click.argument("token_id", metavar="ID")
@data_option
def revoke(token_id: str, data: Path) -> None:
    """Revoke the token of an ID; `homeostat token list` shows them.

    \b
    Example:
      homeostat token revoke 3f9a0c11de
    """
    try:
        was_known = _tokens(data).revoke(token_id)
    except (TokenFileError, OSError) as error:
        raise Failure(str(error)) from error
    if not was_known:
        raise Failure(f'there is no token with the id "{token_id}"; see: homeostat token list')
    click.echo(f"revoked {token_id}")


def _tokens(data: Path) -> Tokens:
    if not data.is_dir():
        raise Failure(f"there is no plane in {data}; start it once (homeostat up) or name another with --data")
    return Tokens(data / "tokens.json")


def _endpoint(data: Path) -> Endpoint:
    """Where the plane was when it last started, as its administrator is told."""
    try:
        return load_endpoint([data / "kubeconfig"])
    except KubeconfigError as error:
        raise Failure(f"{error}; the plane writes it when it starts: homeostat up") from error


def _day(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M UTC")


def _end(expires: int, now: float) -> str:
    if not expires:
        return "never"
    return f"{_day(expires)} (over)" if expires <= now else _day(expires)

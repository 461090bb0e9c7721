"""`homeostat token`: bearer tokens of a data directory. A running plane reads changes within seconds."""

from __future__ import annotations

import re
import shlex
import time
from datetime import UTC, datetime
from pathlib import Path

import click

from homeostat.cli.console.failure import Failure
from homeostat.cli.console.output import is_table, output_option, print_list
from homeostat.cli.group import Group
from homeostat.cli.plane.data_directory import data_option
from homeostat.client.endpoint.kubeconfig import Endpoint, KubeconfigError, load_endpoint
from homeostat.objects import yaml
from homeostat.objects.json import JsonObject
from homeostat.objects.time.duration import DurationError, parse_duration
from homeostat.objects.time.timestamp import format_time
from homeostat.server.access.tokens.file import Token, TokenFileError, Tokens
from homeostat.server.pki.kubeconfig import kubeconfig

_DAY_S = 86400
_days = re.compile(r"(\d{1,5})([dwy])").fullmatch
_DAYS = {"d": 1, "w": 7, "y": 365}
_BESIDE_A_CERTIFICATE = (
    "With the administrator's kubeconfig, kubectl --token has no effect: the certificate takes precedence. "
    "-o kubeconfig prints a kubeconfig for the token."
)


class Lifetime(click.ParamType[int]):
    """Seconds from `30d`, `2w`, `1y`, `12h`, `1h30m`; 0 for `never`."""

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
                self.fail(f"{text!r} is not a time; expected one like 12h, 30d, 4w, 1y or never", param, ctx)
        if seconds <= 0:
            self.fail(f"{text!r} ends before it begins; for a token that does not expire say never", param, ctx)
        return seconds


@click.group(cls=Group, short_help="Create, list and revoke bearer tokens.")
def command() -> None:
    """Create, list and revoke bearer tokens of users. Only hashes are stored; a plane reads changes within seconds.

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
@click.option(
    "--ttl", type=Lifetime(), default="30d", show_default=True, help="How long it is valid: 12h, 30d, 4w, 1y, never."
)
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
    """Create a token for the user NAME and print it, alone or in a kubeconfig. It cannot be printed again.

    \b
    Examples:
      homeostat token create ci --ttl 12h
      TOKEN=$(homeostat token create alice --group system:masters)
      homeostat token create ci -o kubeconfig > ci.kubeconfig
    """
    for text in (name, *groups):
        if not text.strip() or not text.isprintable():
            raise click.UsageError(
                f"{text!r} is not a valid name: it is empty or has characters that cannot be printed"
            )
    tokens = _tokens(data)
    administrator = _endpoint(data) if output == "kubeconfig" else None
    now = time.time()
    try:
        text = tokens.create(name, now=now, groups=groups, life_s=ttl)
    except (TokenFileError, OSError) as error:
        raise Failure(str(error)) from error
    end = f"until {_day(now + ttl)}" if ttl else "for ever"
    click.echo(f"valid {end}; it cannot be shown again", err=True)
    if administrator:
        config = kubeconfig(administrator.server, authority=administrator.authority, credential=text)
        click.echo(yaml.dump(config), nl=False)
    else:
        click.echo(text)
        click.echo(_BESIDE_A_CERTIFICATE, err=True)
    if not groups:
        click.echo(_needs_binding(name), err=True)


@command.command("list")
@output_option
@data_option
def list_tokens(data: Path, output: str) -> None:
    """List the ids, users and lifetimes of tokens, never the tokens themselves.

    \b
    Example:
      homeostat token list
    """
    from homeostat.cli.console.table import Table

    try:
        found = _tokens(data).list()
    except (TokenFileError, OSError) as error:
        raise Failure(str(error)) from error
    if not is_table(output):
        print_list([_record(each) for each in found], output, name=lambda each: str(each["id"]))
        return
    if not found:
        click.echo("No tokens. Create one: homeostat token create NAME", err=True)
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
    """Revoke the token with an ID of `homeostat token list`.

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


def _needs_binding(user: str) -> str:
    name = shlex.quote(user)
    return (
        f"The user {name} has only the permissions that role bindings grant. If there is none yet, create one, for "
        f"example to read everything but Secrets: "
        f"kubectl create clusterrolebinding {name}-view --clusterrole=view --user={name}"
    )


def _tokens(data: Path) -> Tokens:
    if not data.is_dir():
        raise Failure(f"there is no plane in {data}; start it once (homeostat up) or name another with --data")
    return Tokens(data / "tokens.json")


def _endpoint(data: Path) -> Endpoint:
    """The address of the plane at its last start, from the administrator's kubeconfig."""
    try:
        return load_endpoint([data / "kubeconfig"])
    except KubeconfigError as error:
        raise Failure(f"{error}; the plane writes it when it starts: homeostat up") from error


def _record(token: Token) -> JsonObject:
    expires = format_time(datetime.fromtimestamp(token.expires, UTC)) if token.expires else None
    return {
        "id": token.id,
        "user": token.user,
        "groups": list(token.groups),
        "created": format_time(datetime.fromtimestamp(token.created, UTC)),
        "expires": expires,
    }


def _day(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M UTC")


def _end(expires: int, now: float) -> str:
    if not expires:
        return "never"
    return f"{_day(expires)} (expired)" if expires <= now else _day(expires)

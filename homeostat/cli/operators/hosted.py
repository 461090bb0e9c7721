"""Operators that the server itself runs: a second `homeostat run` of one would do all its work twice.

A plane tells of them on `/version`; where nothing is told there, nothing is refused. On a plane whose operators stand
for Leases, one that stands for the same is no second: one of them leads.
"""

from __future__ import annotations

from collections.abc import Collection

import msgspec

from homeostat.cli.console.failure import Failure
from homeostat.client.base import Client
from homeostat.objects.errors import ApiError
from homeostat.operators.catalog import OURS


class Hosted(msgspec.Struct, frozen=True):
    """As `server/pages.py` writes it."""

    operators: tuple[str, ...] = ()
    leases: str = ""
    """The namespace of the Leases that they stand for; empty where they lead from the start."""


async def fetch_hosted(client: Client) -> Hosted:
    try:
        version = await client.get("/version")
        return msgspec.convert(version.get("homeostat", {}), Hosted)
    except (ApiError, msgspec.ValidationError):
        return Hosted()


async def refuse_hosted(client: Client, operators: Collection[str], *, leases: str) -> None:
    """`leases` is where this process stands for the lead; empty where it does not."""
    hosted = await fetch_hosted(client)
    twice = [each for each in operators if each in hosted.operators]
    if not twice or (leases and leases == hosted.leases):
        return
    # By a short name only those can be started that come with the plane.
    rest = [each for each in ("housekeeping", *OURS) if each in hosted.operators and each not in twice]
    told = f"join its leader election (--leader-elect --lease-namespace {hosted.leases}), " if hosted.leases else ""
    raise Failure(
        f"the server runs {', '.join(twice)} itself, and a second process would repeat all work; "
        f"leave these out of --operators, {told}"
        f"or start the plane without them: homeostat up --operators {','.join(rest) or 'none'}"
    )

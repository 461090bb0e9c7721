"""Operators that the server itself runs: a second `homeostat run` of one would do all its work twice.

A plane reports them on `/version`; a server that reports none refuses none. If the operators of the plane take part in
leader election, a process that takes part in the same election is allowed: only one of them leads.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

import msgspec

from homeostat.cli.console.failure import Failure
from homeostat.client.base import Client
from homeostat.objects.errors import ApiError
from homeostat.operators.catalog import OURS
from homeostat.runtime.description import Description


class Hosted(msgspec.Struct, frozen=True):
    """As `server/pages.py` encodes it."""

    operators: tuple[str, ...] = ()
    leases: str = ""
    """The namespace of their Leases; empty if they run without leader election."""


async def fetch_hosted(client: Client) -> Hosted:
    try:
        version = await client.get("/version")
        return msgspec.convert(version.get("homeostat", {}), Hosted)
    except (ApiError, msgspec.ValidationError):
        return Hosted()


async def refuse_cluster(client: Client, operators: Mapping[str, Description]) -> None:
    """Refuses operators that need a plane unless the server reports that it is one."""
    names = [name for name, each in operators.items() if each.needs_plane]
    if not names:
        return
    try:
        version = str((await client.get("/version")).get("gitVersion"))
    except ApiError as error:
        version = f"unknown: {error}"
    if "+homeostat-" not in version:
        raise Failure(
            f"{', '.join(names)} would overwrite what the nodes and controllers of a cluster report; "
            f"expected a server of homeostat, got version {version}; "
            "choose the kubeconfig of a plane, or leave these out of --operators"
        )


async def refuse_hosted(client: Client, operators: Collection[str], *, leases: str) -> None:
    """`leases` is the namespace of this process's Leases; empty if it runs without leader election."""
    hosted = await fetch_hosted(client)
    twice = [each for each in operators if each in hosted.operators]
    if not twice or (leases and leases == hosted.leases):
        return
    # `up` starts only our own operators by short name.
    rest = [each for each in ("housekeeping", *OURS) if each in hosted.operators and each not in twice]
    join = f"join its leader election (--leader-elect --lease-namespace {hosted.leases}), " if hosted.leases else ""
    raise Failure(
        f"the server runs {', '.join(twice)} itself, and a second process would repeat all work; "
        f"leave these out of --operators, {join}"
        f"or start the plane without them: homeostat up --operators {','.join(rest) or 'none'}"
    )

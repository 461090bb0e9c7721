"""The option `--workload KIND/NAME`."""

from __future__ import annotations

from typing import Final

import click

from homeostat.operators.contracts.engine.checks.snapshot import DEPLOYMENT, KINDS

_SHORT: Final = {"deploy": "Deployment", "sts": "StatefulSet", "rs": "ReplicaSet", "cj": "CronJob"}
_WORDS: Final = {
    **_SHORT,
    **{each.lower(): each for each in KINDS},
    **{f"{each.lower()}s": each for each in KINDS},
}


class WorkloadType(click.ParamType[tuple[str, str]]):
    """Name and kind; without a kind it is a Deployment."""

    name = "workload"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, str]:
        kind, slash, name = str(value).partition("/")
        if not slash:
            kind, name = DEPLOYMENT, kind
        found = _WORDS.get(kind.lower())
        if found is None or not name or "/" in name:
            self.fail(f"{value!r} is not KIND/NAME; the kinds are {', '.join(KINDS)}", param, ctx)
        return name, found

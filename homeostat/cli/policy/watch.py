"""`homeostat policy watch`: shows policies and their scores as they change, the worst first."""

from __future__ import annotations

from typing import NamedTuple

import click

from homeostat.cli.console.connection import Connection, connected
from homeostat.cli.console.live import View, show_live
from homeostat.cli.objects.changes import objects_of
from homeostat.cli.policy.stored import KINDS, no_kind
from homeostat.objects.conditions import STALLED
from homeostat.objects.json import JsonObject

_HEADINGS = ("NAMESPACE", "POLICY", "SCORE", "STATUS", "VIOLATIONS", "PODS", "MODE", "EVALUATED")
_STYLES = {"Healthy": "green", "Stable": "yellow", "Degraded": "dark_orange", "Critical": "red", "Stalled": "red"}


class Row(NamedTuple):
    namespace: str
    name: str
    score: int | None
    classification: str
    violations: int | None
    pods: int | None
    mode: str
    evaluated: str


@click.command(short_help="Show policies and their scores, live.")
@click.option("-A", "--all-namespaces", is_flag=True, help="In all namespaces, and those of the cluster.")
@connected
async def command(connection: Connection, all_namespaces: bool) -> None:
    """Show policies and their scores as they change, the worst first. Ctrl-C ends it.

    \b
    Examples:
      homeostat policy watch -A
      homeostat policy watch --namespace shop
    """
    namespace = "" if all_namespaces else connection.namespace
    kinds = [each for each in KINDS.values() if not namespace or each.is_namespaced]
    view = View(_HEADINGS, lambda policy, _: row_of(policy), _rank, _style)
    await show_live(view, [objects_of(connection.client, kind, namespace, missing=no_kind) for kind in kinds])


def row_of(policy: JsonObject) -> Row:
    metadata, status = policy["metadata"], policy.get("status") or {}
    return Row(
        metadata.get("namespace", ""),
        metadata["name"],
        status.get("healthScore"),
        "Stalled" if _is_stalled(status) else status.get("classification", "Unknown"),
        status.get("violations"),
        status.get("pods"),
        (policy.get("spec") or {}).get("enforcementMode", "audit"),
        status.get("lastEvaluated", ""),
    )


def _is_stalled(status: JsonObject) -> bool:
    """A stalled policy keeps its last score."""
    conditions = status.get("conditions") or ()
    return any(each["type"] == STALLED and each["status"] == "True" for each in conditions)


def _rank(policy: JsonObject) -> tuple[int, str, str]:
    row = row_of(policy)
    return 101 if row.score is None else row.score, row.namespace, row.name


def _style(policy: JsonObject) -> str:
    return _STYLES.get(row_of(policy).classification, "")

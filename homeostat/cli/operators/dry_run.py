"""`homeostat run --dry-run`: what operators would do now, as a table or JSON."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click
import msgspec

from homeostat.cli.console.failure import Failure
from homeostat.cli.console.table import Table
from homeostat.objects.conditions import ABNORMAL

if TYPE_CHECKING:
    from homeostat.runtime.control.controller import Plan
    from homeostat.runtime.manager import Manager

_SYNC_WITHIN_S = 60.0
_MOST_SHOWN = 3


async def print_plans(manager: Manager, output: str | None) -> None:
    try:
        plans = await manager.plan(within_s=_SYNC_WITHIN_S)
    except* TimeoutError:
        plans = None
    if plans is None:
        raise Failure(f"listing the objects timed out after {_SYNC_WITHIN_S:g} s: {'; '.join(manager.troubles())}")
    _print(plans, output)
    if any(each.trouble for each in plans):
        raise click.exceptions.Exit(1)


def _print(plans: Sequence[Plan[Any]], output: str | None) -> None:
    if output == "json":
        click.echo(msgspec.json.format(msgspec.json.encode([_record(each) for each in plans]), indent=2))
        return
    if not plans:
        click.echo("nothing to reconcile")
        return
    rows = [
        [each.request.kind, each.request.namespace, each.request.name, _summary(each), _report(each)] for each in plans
    ]
    Table(("KIND", "NAMESPACE", "NAME", "WOULD", "REPORTS")).print(rows)


def _record(plan: Plan[Any]) -> dict[str, Any]:
    decision = plan.decision
    return {
        **plan.request._asdict(),
        "actions": [{"action": type(each).__name__, "with": _plain(each)} for each in decision.actions]
        if decision
        else [],
        "conditions": list(decision.conditions) if decision else [],
        "status": {name: value for name, value in (decision.status or {}).items() if value is not None}
        if decision
        else {},
        "release": plan.is_released,
        "wait": plan.wait,
        "trouble": plan.trouble,
    }


def _plain(action: Any) -> Any:
    try:
        return msgspec.to_builtins(action)
    except (TypeError, ValueError):
        return repr(action)


def _summary(plan: Plan[Any]) -> str:
    if plan.decision is None:
        return f"fail: {plan.trouble}" if plan.trouble else f"wait: {plan.wait}"
    if plan.is_released:
        return "release it"
    if not plan.decision.actions:
        return "change nothing"
    return ", ".join(str(each) for each in plan.decision.actions)


def _report(plan: Plan[Any]) -> str:
    """The verdict: the conditions that are not as they should be, or that all are."""
    conditions = plan.decision.conditions if plan.decision is not None else ()
    wrong = [each for each in conditions if (each.status == "True") == (each.type in ABNORMAL)]
    shown = ", ".join(f"{each.type}: {each.reason}" for each in wrong[:_MOST_SHOWN])
    more = f" and {len(wrong) - _MOST_SHOWN} more" if len(wrong) > _MOST_SHOWN else ""
    return f"{shown}{more}" if wrong else "all conditions good" if conditions else ""

"""`homeostat contract explain`: summarizes a contract."""

from __future__ import annotations

from datetime import UTC, datetime

import click

from homeostat.cli.contract.session.overrides import override_options, read_overrides
from homeostat.cli.contract.session.result import print_result
from homeostat.cli.contract.session.session import Session, run
from homeostat.cli.contract.session.settings import BUNDLE, Settings, current_settings, verify_option
from homeostat.operators.contracts.engine.document.contract import Contract
from homeostat.operators.contracts.engine.views.explain import explain_fields, explain_text


@click.command(short_help="Summarize a contract.")
@click.argument("ref", metavar="[BUNDLE]", default=".", type=BUNDLE)
@override_options()
@verify_option
def command(ref: str, values: tuple[str, ...], settings: tuple[str, ...]) -> None:
    """Print what a contract declares: runtime, interfaces, dependencies, scaling and readiness.

    \b
    Examples:
      homeostat contract explain billing
      homeostat contract explain oci://registry.example.org/contracts/billing:1.2.0 -o json
    """
    chosen = current_settings()
    contract = run(_contract(chosen, ref, values, settings))
    today = datetime.now(UTC).date()
    print_result(chosen, lambda: explain_fields(contract, today), lambda: explain_text(contract, today))


async def _contract(chosen: Settings, ref: str, values: tuple[str, ...], settings: tuple[str, ...]) -> Contract:
    async with Session(chosen) as session:
        return (await session.load(ref, read_overrides(values, settings))).parsed.contract

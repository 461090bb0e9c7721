"""`homeostat contract diff`: compares two contracts and classifies the changes."""

from __future__ import annotations

import click

from homeostat.cli.contract.session.overrides import override_options, read_overrides
from homeostat.cli.contract.session.result import ContractFailure, print_problem, print_result
from homeostat.cli.contract.session.session import Session, run
from homeostat.cli.contract.session.settings import BUNDLE, Settings, current_settings, verify_option
from homeostat.operators.contracts.engine.diff.compare import Difference, Side, compare
from homeostat.operators.contracts.engine.diff.render import render_markdown, render_text
from homeostat.operators.contracts.engine.document.parse import ParseError
from homeostat.operators.contracts.engine.validate import Overrides
from homeostat.operators.contracts.sources.errors import SourceError


@click.command(short_help="Compare two contracts and classify the changes.")
@click.argument("old", metavar="OLD", type=BUNDLE)
@click.argument("new", metavar="NEW", type=BUNDLE)
@override_options("old")
@override_options("new")
@verify_option
def command(
    old: str,
    new: str,
    oldvalues: tuple[str, ...],
    oldsettings: tuple[str, ...],
    newvalues: tuple[str, ...],
    newsettings: tuple[str, ...],
) -> None:
    """Compare the bundles OLD and NEW: contracts, interfaces, schemas, dependencies and SBOMs.

    A dependency of NEW in a registry is replaced by a directory beside NEW that has the same name, so that changes of
    several contracts can be checked before they are published.

    Exit codes: 0 no change is BREAKING, 1 one is, or the comparison failed, 2 wrong usage.

    \b
    Examples:
      homeostat contract diff oci://registry.example.org/contracts/billing billing
      homeostat contract diff old/ new/ --output-format markdown
      homeostat contract diff billing billing --new-set interfaces[0].port=9090
    """
    chosen = current_settings()
    found = run(_compare(chosen, (old, oldvalues, oldsettings), (new, newvalues, newsettings)))
    render = render_markdown if chosen.output == "markdown" else render_text
    print_result(chosen, lambda: found, lambda: render(found))
    if found.classification == "BREAKING":
        print_problem("breaking changes detected")
        raise click.exceptions.Exit(1)


Given = tuple[str, tuple[str, ...], tuple[str, ...]]


async def _compare(chosen: Settings, old: Given, new: Given) -> Difference:
    async with Session(chosen) as session:
        before = await _side(session, "old", old[0], read_overrides(*old[1:]))
        after = await _side(session, "new", new[0], read_overrides(*new[1:]))
        return compare(before, after)


async def _side(session: Session, name: str, ref: str, overrides: Overrides) -> Side:
    try:
        loaded = await session.load(ref, overrides)
    except (SourceError, ParseError) as error:
        raise ContractFailure(f"{name} contract: {error}") from error
    await session.verify_lock(loaded)
    closure = session.closure(loaded, prefers_siblings=name == "new")
    graph, fetched = await closure.graph(loaded.parsed.contract)
    return Side(ref, loaded.bundle, graph, fetched)

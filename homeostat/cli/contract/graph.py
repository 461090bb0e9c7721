"""`homeostat contract graph`: shows what a contract depends on."""

from __future__ import annotations

import click

from homeostat.cli.contract.session.overrides import override_options, read_overrides
from homeostat.cli.contract.session.result import print_result
from homeostat.cli.contract.session.session import Session, run
from homeostat.cli.contract.session.settings import BUNDLE, Settings, current_settings, verify_option
from homeostat.operators.contracts.engine.graph.graph import Graph, References
from homeostat.operators.contracts.engine.graph.render import render_graph
from homeostat.operators.contracts.engine.validate import Overrides


@click.command(short_help="Show the dependencies of a contract.")
@click.argument("ref", metavar="[BUNDLE]", default=".", type=BUNDLE)
@click.option("--with-references", is_flag=True, help="Show configurations and policies of other bundles, too.")
@click.option("--only-references", is_flag=True, help="Show only those.")
@override_options()
@verify_option
def command(
    ref: str, with_references: bool, only_references: bool, values: tuple[str, ...], settings: tuple[str, ...]
) -> None:
    """Resolve the dependencies of a contract at every depth and print them as a tree.

    A dependency without tag and digest is the highest version that its compatibility allows. One that cannot be
    resolved, a cycle and a conflict of versions are shown and are no failure. A pacto.lock must match.

    \b
    Examples:
      homeostat contract graph billing
      homeostat contract graph oci://registry.example.org/contracts/billing -o json
      homeostat contract graph billing --with-references
    """
    chosen = current_settings()
    references: References = "only" if only_references else "with" if with_references else "none"
    graph = run(_graph(chosen, ref, values, settings, references))
    print_result(chosen, lambda: graph, lambda: render_graph(graph))


async def _graph(
    chosen: Settings, ref: str, values: tuple[str, ...], settings: tuple[str, ...], references: References
) -> Graph:
    overrides: Overrides = read_overrides(values, settings)
    async with Session(chosen) as session:
        loaded = await session.load(ref, overrides)
        await session.verify_lock(loaded)
        graph, _ = await session.closure(loaded).graph(loaded.parsed.contract, references=references)
        return graph

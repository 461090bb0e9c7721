"""The options of `homeostat up` that simulate workloads: `--workloads`, `--nodes`, `--node-size`."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import NamedTuple

import click

OPERATOR = "homeostat.operators.workloads"


class Simulation(NamedTuple):
    workloads: str
    nodes: str | None
    node_size: str | None

    @property
    def operators(self) -> frozenset[str]:
        """The operator that simulates workloads, and what it depends on; `UsageError`."""
        if self.workloads == "simulated":
            return frozenset({OPERATOR, "housekeeping"})
        if self.workloads == "nodes":
            return frozenset({OPERATOR})
        if self.nodes is not None or self.node_size is not None:
            raise click.UsageError("--nodes and --node-size need --workloads simulated or nodes")
        return frozenset()

    @property
    def environment(self) -> dict[str, str]:
        """The settings of that operator."""
        if self.workloads == "none":
            return {}
        from homeostat.operators.workloads.settings import NODES, PARTS, SIZE

        given = {NODES: self.nodes, SIZE: self.node_size, PARTS: "nodes" if self.workloads == "nodes" else "all"}
        return {name: value for name, value in given.items() if value is not None}


def simulation_options(function: Callable[..., None]) -> Callable[..., None]:
    """Gives the command `simulation`."""

    @click.option(
        "--workloads",
        type=click.Choice(["none", "nodes", "simulated"]),
        default="none",
        show_default=True,
        help="Give Deployments, Jobs, Pods and the like a life without containers, on simulated Nodes; with nodes only "
        "the Pods, beside a scheduler and controllers of yours.",
    )
    @click.option("--nodes", metavar="N", default=None, help="Number of simulated Nodes.  [default: 3]")
    @click.option(
        "--node-size",
        metavar="SIZE",
        default=None,
        help="Size of a simulated Node, as cpu=32,memory=256Gi,pods=110 (the default).",
    )
    @wraps(function)
    def command(*args: object, workloads: str, nodes: str | None, node_size: str | None, **options: object) -> None:
        function(*args, simulation=Simulation(workloads=workloads, nodes=nodes, node_size=node_size), **options)

    return command

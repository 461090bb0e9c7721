"""Compares two bundles: their contracts, the dependencies that both have, their graphs and SBOMs. Pure."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from homeostat.operators.contracts.engine.bundle.bundle import Bundle
from homeostat.operators.contracts.engine.diff.change import Change, Classification, worst
from homeostat.operators.contracts.engine.diff.dependencies import diff_dependencies
from homeostat.operators.contracts.engine.diff.interfaces import diff_interfaces
from homeostat.operators.contracts.engine.diff.runtime import diff_runtime
from homeostat.operators.contracts.engine.diff.sbom import SbomDifference, compare_sboms, read_sbom
from homeostat.operators.contracts.engine.diff.schemas import diff_configurations, diff_policies
from homeostat.operators.contracts.engine.diff.service import diff_readiness, diff_service
from homeostat.operators.contracts.engine.graph.difference import GraphDifference, compare_graphs
from homeostat.operators.contracts.engine.graph.graph import Fetched, Graph


class DependencyDifference(msgspec.Struct, kw_only=True, omit_defaults=True, rename="camel"):
    name: str
    classification: Classification
    changes: list[Change] | None
    sbom_diff: SbomDifference | None = None


class Difference(msgspec.Struct, kw_only=True, omit_defaults=True, rename="camel"):
    old_path: str
    new_path: str
    classification: Classification
    """The worst of the root and of the dependencies."""
    changes: list[Change] | None
    dependency_diffs: list[DependencyDifference] = msgspec.field(default_factory=list)
    graph_diff: GraphDifference | None = None
    sbom_diff: SbomDifference | None = None


class Side(msgspec.Struct, frozen=True):
    """One side of a comparison: the bundle, its resolved graph and the bundles of its dependencies."""

    path: str
    bundle: Bundle
    graph: Graph
    fetched: Fetched = {}


def diff_contracts(old: Bundle, new: Bundle) -> list[Change]:
    """Compare two contracts and the files that they name, without their dependencies."""
    return list(_changes(old, new))


def compare(old: Side, new: Side) -> Difference:
    changes = diff_contracts(old.bundle, new.bundle)
    dependencies = [
        found
        for name, (before, after) in sorted(_shared_dependencies(old, new).items())
        if (found := _compare_dependency(name, before, after)) is not None
    ]
    return Difference(
        old_path=old.path,
        new_path=new.path,
        classification=worst(
            [each.classification for each in changes] + [each.classification for each in dependencies]
        ),
        changes=changes or None,
        dependency_diffs=dependencies,
        graph_diff=compare_graphs(old.graph, new.graph),
        sbom_diff=compare_sboms(read_sbom(old.bundle.files), read_sbom(new.bundle.files)),
    )


def _changes(old: Bundle, new: Bundle) -> Iterator[Change]:
    yield from diff_service(old.contract, new.contract)
    yield from diff_interfaces(old, new)
    yield from diff_configurations(old, new)
    yield from diff_policies(old, new)
    yield from diff_runtime(old.contract.runtime, new.contract.runtime)
    yield from diff_dependencies(old.contract, new.contract)
    yield from diff_readiness(old.contract.readiness, new.contract.readiness)


def _compare_dependency(name: str, old: Bundle, new: Bundle) -> DependencyDifference | None:
    changes = diff_contracts(old, new)
    sbom = compare_sboms(read_sbom(old.files), read_sbom(new.files))
    if not changes and (sbom is None or not sbom.changes):
        return None
    return DependencyDifference(
        name=name,
        classification=worst(each.classification for each in changes),
        changes=changes or None,
        sbom_diff=sbom,
    )


def _shared_dependencies(old: Side, new: Side) -> dict[str, tuple[Bundle, Bundle]]:
    before, after = _dependencies(old), _dependencies(new)
    return {name: (before[name], after[name]) for name in before.keys() & after.keys()}


def _dependencies(side: Side) -> dict[str, Bundle]:
    """Return the bundles of dependencies by service name; the first one found wins."""
    found: dict[str, Bundle] = {}
    for edge, node in side.graph.root.walk():
        bundle = side.fetched.get(edge.ref)
        if isinstance(bundle, Bundle) and node.name != side.graph.root.name:
            found.setdefault(node.name, bundle)
    return found

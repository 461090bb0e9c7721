"""No module of the package imports itself by way of others, not even for its types alone."""

from __future__ import annotations

from graphlib import CycleError, TopologicalSorter

import grimp
import pytest


@pytest.fixture(scope="module")
def graph() -> grimp.ImportGraph:
    return grimp.build_graph("homeostat", cache_dir=None)


def order(graph: grimp.ImportGraph) -> list[str]:
    """The modules, each after those it imports."""
    imports = {module: graph.find_modules_directly_imported_by(module) for module in graph.modules}
    return list(TopologicalSorter(imports).static_order())


def test_no_module_is_part_of_an_import_cycle(graph: grimp.ImportGraph) -> None:
    assert len(order(graph)) == len(graph.modules) > 500


def test_an_import_cycle_is_noticed(graph: grimp.ImportGraph) -> None:
    importer, imported = "homeostat.cel.errors", "homeostat.cel.environment"
    graph.add_import(importer=importer, imported=imported)
    with pytest.raises(CycleError):
        order(graph)
    graph.remove_import(importer=importer, imported=imported)

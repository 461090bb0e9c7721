"""What a contract refers to is fetched concurrently, each reference once, from where the reference points."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path

import pytest

from homeostat.operators.contracts.engine.bundle.bundle import Bundle
from homeostat.operators.contracts.engine.document.contract import Contract
from homeostat.operators.contracts.engine.document.parse import Parsed
from homeostat.operators.contracts.engine.lock.lock import LockError
from homeostat.operators.contracts.engine.validate import load
from homeostat.operators.contracts.sources.closure import AT_ONCE, Closure, Pulls
from homeostat.operators.contracts.sources.errors import NotFoundError

HEAD = 'pactoVersion: "1.0"\nservice: {{name: {0}, version: {1}}}\n'


def text(name: str, *needs: str, version: str = "1.0.0", more: str = "") -> str:
    items = ", ".join(f'{{name: d{at}, ref: "{ref}", compatibility: "*"}}' for at, ref in enumerate(needs))
    return HEAD.format(name, version) + (f"dependencies: [{items}]\n" if needs else "") + more


def parsed(contract: str) -> Parsed:
    return load({"pacto.yaml": contract.encode()})


class Registry:
    """Counts who is being served; each answer takes a turn of the loop."""

    def __init__(self, contracts: Mapping[str, str]) -> None:
        self.contracts, self.asked, self.busy, self.most = contracts, list[tuple[str, str]](), 0, 0

    async def __call__(self, ref: str, constraint: str = "") -> Bundle:
        self.asked.append((ref, constraint))
        self.busy += 1
        self.most = max(self.most, self.busy)
        await asyncio.sleep(0.01)
        self.busy -= 1
        if ref not in self.contracts:
            raise NotFoundError(f"artifact not found: {ref}")
        files = {"pacto.yaml": self.contracts[ref].encode()}
        return Bundle(load(files).contract, files, f"sha256:{len(ref):064}")


def contract(text: str) -> Contract:
    return parsed(text).contract


async def test_siblings_are_fetched_together_and_each_once() -> None:
    refs = [f"oci://r.test/s{number}" for number in range(20)]
    registry = Registry(
        {ref: text(f"s{at}", "oci://r.test/deep") for at, ref in enumerate(refs)} | {"oci://r.test/deep": text("deep")}
    )
    graph, fetched = await Closure(Pulls(registry)).graph(contract(text("root", *refs)))
    assert len(fetched) == 21
    assert len(registry.asked) == len(set(registry.asked)) == 21
    assert registry.most == AT_ONCE
    assert sum(edge.shared for each in graph.root.dependencies if each.node for edge in each.node.dependencies) == 19


async def test_a_closure_asks_once_for_graph_lock_and_policies() -> None:
    ref = "oci://r.test/rules:1"
    policies = f"policies: [{{name: a, ref: '{ref}'}}]\nconfigurations: [{{name: a, ref: '{ref}'}}]\n"
    registry = Registry({ref: text("rules")})
    closure = Closure(Pulls(registry))
    root = parsed(text("root", ref, more=policies))
    await asyncio.gather(
        closure.graph(root.contract), closure.lock(root.contract, tool_version="1"), closure.validate(root, {})
    )
    assert len(registry.asked) == 1


async def test_what_cannot_be_fetched_is_an_error_of_its_edge() -> None:
    graph, _ = await Closure(Pulls(Registry({}))).graph(contract(text("root", "oci://r.test/none", "../none")))
    assert [bool(each.error) for each in graph.root.dependencies] == [True, True]
    with pytest.raises(LockError, match="LOCK_UNRESOLVED"):
        await Closure(Pulls(Registry({}))).lock(contract(text("root", "oci://r.test/none")), tool_version="1")


def _write(folder: Path, **contracts: str) -> None:
    for name, contract in contracts.items():
        (folder / name).mkdir(parents=True)
        (folder / name / "pacto.yaml").write_text(contract)


async def test_directories_are_relative_to_the_root_at_every_depth(tmp_path: Path) -> None:
    _write(tmp_path, a=text("a", "../b"), b=text("b", "../c"), c=text("c"))
    graph, _ = await Closure(None, str(tmp_path / "a")).graph(load({"pacto.yaml": text("a", "../b").encode()}).contract)
    assert [node.name for _, node in graph.root.walk()] == ["b", "c"]


async def test_a_contract_of_a_registry_reads_no_directory(tmp_path: Path) -> None:
    _write(tmp_path, b=text("b"))
    graph, _ = await Closure(None, None).graph(contract(text("a", str(tmp_path / "b"))))
    assert "directory" in graph.root.dependencies[0].error


async def test_a_policy_is_found_beside_the_contract_and_else_below_the_working_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _write(tmp_path, mill=text("mill"), work=text("work"))
    rules = tmp_path / "work/rules"
    (rules / "policy").mkdir(parents=True)
    (rules / "pacto.yaml").write_text(text("rules"))
    (rules / "policy/schema.json").write_text('{"required": ["metadata"]}')
    monkeypatch.chdir(tmp_path / "work")
    root = parsed(text("mill", more="policies: [{name: p, ref: ./rules}]\n"))
    found = await Closure(None, str(tmp_path / "mill")).validate(root, {})
    assert [each.code for each in found.findings.errors] == ["POLICY_VIOLATION"]


async def test_a_sibling_replaces_a_dependency_of_a_registry(tmp_path: Path) -> None:
    _write(tmp_path, weir=text("weir", version="9.0.0"))
    registry = Registry({"oci://r.test/c/weir:1": text("weir"), "oci://r.test/c/gate:1": text("gate")})
    closure = Closure(Pulls(registry), str(tmp_path / "mill"), siblings=str(tmp_path))
    graph, _ = await closure.graph(contract(text("mill", "oci://r.test/c/weir:1", "oci://r.test/c/gate:1")))
    assert [(node.name, node.version) for _, node in graph.root.walk()] == [("weir", "9.0.0"), ("gate", "1.0.0")]

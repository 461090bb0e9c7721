"""The versions of a service."""

from __future__ import annotations

import pytest

from homeostat.operators.contracts.engine.bundle.bundle import Bundle
from homeostat.operators.contracts.engine.services.history import (
    Recorded,
    classify_versions,
    find_version,
    is_update,
    latest_version,
    merge_versions,
)
from homeostat.operators.contracts.engine.validate import load

TEXT = """
pactoVersion: "1.0"
service: {{name: ledger, version: {version}}}
interfaces: [{{name: web, type: http, port: {port}}}]
"""


def bundle(version: str, port: int = 8080) -> Bundle:
    files = {"pacto.yaml": TEXT.format(version=version, port=port).encode()}
    return Bundle(load(files).contract, files)


def test_the_registry_fills_what_the_cluster_lacks() -> None:
    recorded = [
        Recorded(version="1.0.0", contract_hash="aa", created_at="2026-01-01T00:00:00Z"),
        Recorded(version="draft", contract_hash="bb"),
    ]
    tags = {"v1.0.0": "r/ledger:v1.0.0", "1.2.0": "r/ledger:1.2.0", "latest": "r/ledger:latest"}
    found = merge_versions(recorded, tags, current="v1.0.0")
    assert [(each.version, each.ref, each.source, each.is_current) for each in found] == [
        ("1.2.0", "r/ledger:1.2.0", "oci", False),
        ("1.0.0", "r/ledger:v1.0.0", "k8s", True),
        ("draft", "", "k8s", False),
    ]


def test_of_an_overwritten_tag_the_newest_record_counts() -> None:
    old = Recorded(version="1.0.0", contract_hash="old", created_at="2026-01-01T00:00:00Z")
    new = Recorded(version="1.0.0", contract_hash="new", created_at="2026-02-01T00:00:00Z")
    assert [each.contract_hash for each in merge_versions([old, new], {}, current="")] == ["new"]


def test_an_inline_contract_gets_no_reference_of_a_registry() -> None:
    found = merge_versions([Recorded(version="1.0.0", is_inline=True)], {"1.0.0": "r/x:1.0.0"}, current="1.0.0")
    assert found[0].ref == ""


def test_versions_are_classified_where_both_bundles_are_at_hand() -> None:
    bundles = {"3.0.0": bundle("3.0.0", 9090), "2.0.0": bundle("2.0.0"), "1.0.0": bundle("1.0.0")}
    versions = [Recorded(version=each) for each in ("3.0.0", "2.0.0", "1.5.0", "1.0.0")]
    found = classify_versions(versions, [bundles.get(each.version) for each in versions])
    assert [each.classification for each in found] == ["BREAKING", "", "", ""]


def test_a_version_is_found_however_it_is_spelled() -> None:
    assert find_version([Recorded(version="v1.0")], "1.0.0") == Recorded(version="v1.0")
    assert find_version([Recorded(version="v1.0")], "2") is None


@pytest.mark.parametrize(
    ("latest", "current", "expected"),
    [
        ("1.1.0", "1.0.0", True),
        ("1.0.0", "1.0.0", False),
        ("0.9.0", "1.0.0", False),
        ("", "1.0.0", False),
        ("2", "draft", False),
    ],
)
def test_an_update_is_a_higher_version(latest: str, current: str, expected: bool) -> None:
    assert is_update(latest, current) is expected


def test_the_latest_version_ignores_other_tags() -> None:
    assert latest_version(["latest", "1.0.0", "v1.2.0", "nightly"]) == "v1.2.0"
    assert latest_version(["latest"]) == ""

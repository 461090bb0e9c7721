from __future__ import annotations

import pytest

from homeostat.operators.sync.engine.errors import ValidationError
from homeostat.operators.sync.engine.plan.changes import FileChange, Plan, Target, plan_changes
from homeostat.operators.sync.engine.plan.ownership import Limit, Record, check_limit, prunable

_PRESENT = {"/customers/acme", "/customers/acme/sub/x"}


def plan(*changes: FileChange, source: str = "/customers") -> Plan:
    return plan_changes(source, changes, _PRESENT.__contains__)


@pytest.mark.parametrize(
    ("name", "is_removed", "targets", "pruned"),
    [
        ("customers/acme/resource.json", False, (Target("/customers/acme"),), ()),
        ("customers/acme/resource.xml", False, (Target("/customers/acme"),), ()),
        ("customers/acme/script.sh", False, (Target("/customers/acme"),), ()),
        ("customers/acme/defaults.yaml", False, (Target("/customers/acme"),), ()),
        ("customers/acme/metadata.yaml", True, (Target("/customers/acme"),), ()),
        ("customers/_/metadata.json", False, (Target("/customers", True),), ()),
        ("customers/_/defaults.yaml", True, (Target("/customers", True),), ()),
        ("_/metadata.yaml", False, (Target("/customers", True),), ()),
        ("customers/bravo/resource.json", True, (), ("/customers/bravo",)),
        ("customers/_/items/_/metadata.yaml", False, (Target("/customers", True),), ()),
        ("customers/a*/_/metadata.yaml", False, (Target("/customers", True),), ()),
        ("accounts/x/resource.json", False, (), ()),
        ("accounts/_/metadata.yaml", False, (), ()),
        (".github/workflows/x.yaml", False, (), ()),
        ("README.md", False, (), ()),
    ],
)
def test_a_changed_file_has_its_targets(
    name: str, is_removed: bool, targets: tuple[Target, ...], pruned: tuple[str, ...]
) -> None:
    assert plan(FileChange(name, is_removed)) == Plan("incremental", targets, pruned)


def test_an_unknown_file_of_a_collection_makes_the_sync_full() -> None:
    assert plan(FileChange("customers/_/defaults.ini")).mode == "full"


def test_another_format_of_a_payload_is_no_removal() -> None:
    found = plan(FileChange("customers/acme/resource.json", True), FileChange("customers/acme/resource.yaml"))
    assert found == Plan("incremental", (Target("/customers/acme"),), ())


def test_what_is_above_the_source_is_not_ours() -> None:
    assert plan(FileChange("customers/resource.json", True), source="/customers/acme") == Plan("incremental")


def test_a_recursive_target_covers_those_below_it() -> None:
    found = plan(FileChange("customers/_/metadata.yaml"), FileChange("customers/acme/resource.json"))
    assert found.targets == (Target("/customers", True),)


def test_only_owned_objects_that_are_no_longer_declared_are_pruned_deepest_first() -> None:
    record = Record({"/c/a": "1", "/c/b": "2", "/c/b/x/y": "3", "/d/e": "4"}, frozenset({"/c/z"}))
    assert prunable(record, ["/c/a"], "/c") == ["/c/b/x/y", "/c/b"]
    assert prunable(record.with_owned("/c/z", "9"), ["/c/a", "/c/b", "/c/b/x/y"], "/c") == []


def test_more_deletions_than_the_limit_are_refused() -> None:
    record = Record({f"/c/{n}": "" for n in range(10)})
    check_limit(record, ["/c/1"], Limit(most=1, percent=10))
    for limit in (Limit(most=1), Limit(percent=10)):
        with pytest.raises(ValidationError):
            check_limit(record, ["/c/1", "/c/2"], limit)

from __future__ import annotations

import pytest

from homeostat.operators.sync.engine.errors import ValidationError
from homeostat.operators.sync.engine.plan.changes import FileChange, Plan, Target, plan_changes
from homeostat.operators.sync.engine.plan.ownership import Limit, check_limit, is_protected, prunable

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
    owned = ["/c/a", "/c/b", "/c/b/x/y", "/d/e"]
    assert prunable(owned, ["/c/a"], "/c") == ["/c/b/x/y", "/c/b"]


def test_a_protected_path_protects_all_below_it() -> None:
    assert is_protected("/c/b/x", ["/c/b"])
    assert is_protected("/realms/m/clients/a", ["/realms/*/clients"])
    assert not is_protected("/c/bb", ["/c/b"])
    assert not is_protected("/c", ["/c/b"])


def test_more_deletions_than_the_limit_are_refused() -> None:
    check_limit(5, 5, Limit(most=10, percent=25))
    check_limit(10, 100, Limit(most=10, percent=10))
    for limit in (Limit(most=9), Limit(percent=9)):
        with pytest.raises(ValidationError, match="raise maxDeletion"):
            check_limit(10, 100, limit)

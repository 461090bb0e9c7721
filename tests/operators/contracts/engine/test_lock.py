"""Lock files: written, read, compared, and their pins kept."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from homeostat.operators.contracts.engine.bundle.bundle import Bundle, Unresolved, content_hash
from homeostat.operators.contracts.engine.document.contract import Configuration, Contract, Dependency, Policy, Service
from homeostat.operators.contracts.engine.lock.build import Place, build_lock, normalized
from homeostat.operators.contracts.engine.lock.check import check_lock, keep_pins
from homeostat.operators.contracts.engine.lock.lock import (
    Lock,
    LockedDependency,
    LockError,
    Named,
    UnreadableLockError,
    make_lock,
    print_lock,
    read_lock,
)

_ROOT = Named("mill", "1.0")


def _locked(*dependencies: LockedDependency) -> Lock:
    return make_lock("dev", _ROOT, list(dependencies), [])


def _dependency(name: str = "weir", **fields: Any) -> LockedDependency:
    return LockedDependency(name=name, source="oci", ref=f"oci://r/{name}", constraint="^1", **fields)


def test_a_lock_is_read_as_it_was_written() -> None:
    locked = _locked(
        _dependency(version="1.0", digest="sha256:1", depends_on=("a", "b")),
        LockedDependency(name="any", source="local", path="../x y", constraint="*", version="true"),
        LockedDependency(name="odd", source="local", path="a: b #", constraint=">=1 <3", version="2026-01-01"),
    )
    assert read_lock(print_lock(locked)) == locked


@pytest.mark.parametrize(
    "text", ["", "lockVersion: 7\n", "lockVersion: true\n", "- 1", "a: [", "lockVersion: 1\nroot: 3"]
)
def test_another_file_is_no_lock(text: str) -> None:
    with pytest.raises(UnreadableLockError):
        read_lock(text.encode())


@pytest.mark.parametrize(
    ("held", "fresh", "code"),
    [
        ([], [_dependency()], "LOCK_STALE"),
        ([_dependency("a")], [_dependency("b")], "LOCK_STALE"),
        ([_dependency(digest="1")], [_dependency(digest="2")], "LOCK_DIGEST_MISMATCH"),
    ],
)
def test_a_difference_is_an_error(held: list[LockedDependency], fresh: list[LockedDependency], code: str) -> None:
    with pytest.raises(LockError) as found:
        check_lock(_locked(*held), _locked(*fresh))
    assert found.value.code == code


def test_pins_are_kept_while_the_constraint_is_the_same() -> None:
    held = _locked(_dependency("a", digest="1"), _dependency("b", digest="1"), _dependency("c", digest="1"))
    fresh = _locked(
        _dependency("a", digest="2"),
        _dependency("b", digest="2"),
        msgspec.structs.replace(_dependency("c", digest="2"), constraint="^2"),
    )
    kept = keep_pins(held, fresh, ["b"])
    assert [each.digest for each in kept.dependencies] == ["1", "2", "2"]


def _contract(name: str, **fields: Any) -> Contract:
    return Contract(pacto_version="1.2", service=Service(name=name, version="1.0.0"), **fields)


def test_local_references_are_relative_to_the_bundle_that_names_them() -> None:
    root = _contract("root", configurations=(Configuration(name="c", ref="./sub/cfg"),))
    cfg = _contract("cfg", policies=(Policy(name="p", ref="../rules"),))
    first = build_lock(root, {}, tool_version="dev")
    assert first.missing == (Place(path="sub/cfg"),)
    fetched: dict[Place, Bundle | Unresolved] = {Place(path="sub/cfg"): Bundle(cfg, {})}
    assert build_lock(root, fetched, tool_version="dev").missing == (Place(path="sub/rules"),)
    fetched[Place(path="sub/rules")] = Bundle(_contract("rules"), {})
    lock = build_lock(root, fetched, tool_version="dev").lock
    assert lock is not None
    assert [(each.kind, each.name, each.path) for each in lock.references] == [
        ("config", "c", "./sub/cfg"),
        ("policy", "p", "../rules"),
    ]


def test_references_in_a_circle_end() -> None:
    root = _contract("root", policies=(Policy(name="p", ref="oci://r/a"),))
    ring = Bundle(_contract("a", policies=(Policy(name="q", ref="oci://r/a"),)), {}, "sha256:1")
    lock = build_lock(root, {Place(ref="oci://r/a"): ring}, tool_version="dev").lock
    assert lock is not None
    assert [(each.name, each.digest) for each in lock.references] == [("p", "sha256:1"), ("q", "sha256:1")]


def test_a_bundle_of_a_registry_cannot_refer_to_a_directory() -> None:
    root = _contract("root", policies=(Policy(name="p", ref="oci://r/a"),))
    far = Bundle(_contract("a", policies=(Policy(name="q", ref="../../etc"),)), {})
    with pytest.raises(LockError, match="LOCK_UNRESOLVED"):
        build_lock(root, {Place(ref="oci://r/a"): far}, tool_version="dev")


def test_one_reference_as_dependency_and_as_policy_is_fetched_for_both() -> None:
    root = _contract(
        "root",
        dependencies=(Dependency(name="d", ref="oci://r/a", compatibility="^1"),),
        policies=(Policy(name="p", ref="oci://r/a"),),
    )
    assert build_lock(root, {}, tool_version="dev").missing == (
        Place(ref="oci://r/a", constraint="^1"),
        Place(ref="oci://r/a"),
    )


def test_a_conflict_cannot_be_locked() -> None:
    root = _contract(
        "root",
        dependencies=(
            Dependency(name="x", ref="../x", compatibility="*"),
            Dependency(name="y", ref="../y", compatibility="*"),
        ),
    )
    fetched: dict[Place, Bundle | Unresolved] = {
        Place(ref=f"../{name}", path=f"../{name}"): Bundle(Contract(service=Service(name="w", version=version)), {})
        for name, version in (("x", "1.0.0"), ("y", "2.0.0"))
    }
    with pytest.raises(LockError, match="LOCK_CONFLICT"):
        build_lock(root, fetched, tool_version="dev")


def test_the_hash_of_a_tree_depends_on_paths_and_contents() -> None:
    assert content_hash({"a": b"bc"}) != content_hash({"ab": b"c"})
    assert content_hash({"a": b"1", "b": b"2"}) == content_hash({"b": b"2", "a": b"1"})


@pytest.mark.parametrize(
    ("path", "expected"),
    [("./a/../b", "b"), ("../a", "../a"), ("a/../../b", "../b"), ("/a/./b", "/a/b"), (".", "."), ("a/..", ".")],
)
def test_a_path_is_normalized(path: str, expected: str) -> None:
    assert normalized(path) == expected


def test_references_without_end_are_refused() -> None:
    names = [Policy(name=f"p{count}", ref=f"oci://r/{count}") for count in range(1001)]
    fetched: dict[Place, Bundle | Unresolved] = {Place(ref=each.ref): Bundle(_contract("a"), {}) for each in names}
    with pytest.raises(LockError, match="more than 1000 references"):
        build_lock(_contract("root", policies=tuple(names)), fetched, tool_version="dev")

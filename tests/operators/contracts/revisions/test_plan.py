"""Which revisions are created and deleted."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from homeostat.operators.contracts.api import PactoRevision
from homeostat.operators.contracts.loading.content import Version
from homeostat.operators.contracts.revisions.plan import (
    CompleteRevision,
    CreateRevision,
    DeleteRevision,
    plan_revisions,
)
from tests.operators.contracts.worlds import acted, revision

_REPOSITORY = "registry.example.org/port/quay"


def _version(tag: str, digest: str, *, version: str = "", contract: str = "") -> Version:
    return Version(
        version=version or tag.removeprefix("v"),
        service="quay",
        hash=f"{contract or digest}{'0' * 64}"[:64],
        ref=f"{_REPOSITORY}:{tag}",
        tag=tag,
        digest=f"sha256:{digest}{'f' * 56}",
    )


def _settle(
    current: Version, versions: tuple[Version, ...], held: tuple[PactoRevision, ...] = (), limit: int = 50
) -> tuple[list[object], tuple[PactoRevision, ...]]:
    """All actions until nothing is left to do."""
    done: list[object] = []
    for _ in range(20):
        plan = plan_revisions("quay", current, versions, held, limit=limit)
        if not plan.actions:
            return done, held
        done += plan.actions
        held = acted(held, plan.actions)
    raise AssertionError(f"not at rest: {plan.actions}")


def test_every_tag_gets_a_revision_and_v_tags_are_not_read_twice() -> None:
    one, two = _version("v1.0.0", "a"), _version("v2.0.0", "b")
    done, held = _settle(two, (two, one))
    assert [each.name for each in done if isinstance(each, CreateRevision)] == [
        "quay-2-0-0-b000000",
        "quay-1-0-0-a000000",
    ]
    assert not any(each.is_overwritten for each in done if isinstance(each, CreateRevision))
    assert plan_revisions("quay", two, (two, one), held, limit=50).actions == ()


def test_a_tag_that_is_overwritten_is_reported_once_for_each_digest() -> None:
    before, after = _version("1.0.0", "a"), _version("1.0.0", "b")
    _, held = _settle(before, (before,))
    done, held = _settle(after, (after,), held)
    assert [each.is_overwritten for each in done if isinstance(each, CreateRevision)] == [True]
    assert len(held) == 2
    # The old content is pushed again: nothing is new.
    assert _settle(before, (before,), held)[0] == []


def test_a_bundle_with_other_files_and_the_same_contract_has_a_revision_of_its_own() -> None:
    before, after = _version("1.0.0", "a", contract="c"), _version("1.0.0", "b", contract="c")
    _, held = _settle(before, (before,))
    done, held = _settle(after, (after,), held)
    assert [(each.name, each.is_overwritten) for each in done if isinstance(each, CreateRevision)] == [
        ("quay-1-0-0-bffffff", True)
    ]
    assert plan_revisions("quay", after, (after,), held, limit=50).current == "quay-1-0-0-bffffff"


def test_a_revision_without_a_digest_is_not_compared() -> None:
    known = revision(
        "quay-1-0-0-0000000", Version(version="1.0.0", service="quay", hash="0" * 64, ref=f"{_REPOSITORY}:1.0.0")
    )
    current, other = _version("2.0.0", "b"), _version("1.0.0", "a")
    done, _ = _settle(current, (current, other), (known,))
    assert [each.name for each in done if isinstance(each, CreateRevision)] == ["quay-2-0-0-b000000"]


def test_an_interrupted_creation_is_completed() -> None:
    current = _version("1.0.0", "a")
    (held,) = acted((), plan_revisions("quay", current, (), (), limit=50).actions)
    bare = PactoRevision(metadata=held.metadata, spec=held.spec)
    plan = plan_revisions("quay", current, (), (bare,), limit=50)
    assert plan.actions == (CompleteRevision("quay-1-0-0-a000000", current.hash),)


def test_the_oldest_revisions_go_first_and_never_the_one_in_use() -> None:
    inline = [Version(version=f"1.{n}.0", service="quay", hash=f"{n}" * 64) for n in range(5)]
    held = tuple(revision(f"quay-old-{n}", each, created=f"2026-11-1{n}T00:00:00Z") for n, each in enumerate(inline))
    done, left = _settle(_version("9.0.0", "a"), (), held, limit=3)
    assert [each.name for each in done if isinstance(each, DeleteRevision)] == [
        "quay-old-2",
        "quay-old-1",
        "quay-old-0",
    ]
    assert {each.metadata.name for each in left} == {"quay-9-0-0-a000000", "quay-old-3", "quay-old-4"}


_tags = st.sampled_from(["1.0.0", "v1.0.0", "1", "1.1.0", "2.0.0-rc.1", "20260101"])
_versions = st.builds(_version, _tags, st.sampled_from("abc"), version=st.sampled_from(["", "1.0.0"]))


@given(
    st.lists(st.lists(_versions, min_size=1, max_size=6, unique_by=lambda each: each.tag), min_size=1, max_size=4),
    st.integers(1, 8),
)
def test_whatever_is_pushed_there_is_an_end(pushes: list[list[Version]], limit: int) -> None:
    held: tuple[PactoRevision, ...] = ()
    for versions in pushes:
        _, held = _settle(versions[0], tuple(versions[:limit]), held, limit)
        assert len(held) <= limit + 1

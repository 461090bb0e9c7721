"""Which versions of a repository become revisions."""

from __future__ import annotations

from homeostat.operators.contracts.engine.new_revisions import Known, NewRevision, plan_new


def test_every_version_gets_one_revision_newest_first() -> None:
    tags = {"1.0.0": "d1", "latest": "d9", "2.0.0": "d2", "1.5.0": "d3"}
    assert plan_new(tags, [Known("1.0.0", "d1")]) == [NewRevision("2.0.0", "d2"), NewRevision("1.5.0", "d3")]


def test_an_overwritten_tag_is_reported_once() -> None:
    tags = {"1.0.0": "new"}
    first = plan_new(tags, [Known("1.0.0", "old")])
    assert first == [NewRevision("1.0.0", "new", is_overwritten=True)]
    assert plan_new(tags, [Known("1.0.0", "old"), Known("1.0.0", "new")]) == []


def test_a_digest_that_is_not_known_decides_nothing() -> None:
    assert plan_new({"1.0.0": ""}, []) == []
    assert plan_new({"1.0.0": "d"}, [Known("1.0.0")]) == []


def test_a_prefix_and_build_metadata_do_not_hide_a_revision() -> None:
    assert plan_new({"v1.0.0": "d"}, [Known("v1.0.0", "d")]) == []
    assert plan_new({"v1.0.0": "d"}, [Known("1.0.0", "d")]) == []
    assert plan_new({"1.0.0+b": "d"}, [Known("1.0.0_b", "d")]) == []

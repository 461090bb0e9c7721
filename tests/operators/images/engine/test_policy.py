from __future__ import annotations

from time import thread_time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from homeostat.operators.images.engine.policy import (
    CommitPolicy,
    PolicyError,
    TagPolicy,
    candidates,
    choose,
    parse_policy,
)

_TAGS = ["latest", "1.2.3", "v1.10.0", "1.9.9", "2.0.0-rc.1", "2026.05.1", "2026.5.10", "main-9", "main-10", "main-x"]


def _policy(text: str) -> TagPolicy:
    found = parse_policy(text)
    assert not isinstance(found, CommitPolicy)
    return found


@pytest.mark.parametrize(
    ("policy", "chosen"),
    [
        ("semver:^1.2", "v1.10.0"),
        ("semver:~1.9", "1.9.9"),
        ("semver:>=2.0.0-0 <3", "2.0.0-rc.1"),
        ("semver:^7", ""),
        ("calver", "2026.5.10"),
        ("calver:YYYY.0M.MICRO", "2026.05.1"),
        ("regex:^main-", "main-10"),
        ("regex:^main-[0-9]$", "main-9"),
        ("regex:^none", ""),
        ("newest:^main-", "main-9"),
        ("newest", "latest"),
    ],
)
def test_a_policy_chooses_the_highest_tag_that_it_matches(policy: str, chosen: str) -> None:
    built = {"main-9": "2026-05-02T00:00:00Z", "main-10": "2026-05-01T00:00:00Z", "latest": "2026-06-01T00:00:00Z"}
    assert choose(_policy(policy), _TAGS, built) == chosen


def test_a_commit_before_a_number_does_not_order() -> None:
    tags = ["main-ffffff-9", "main-0a0a0a-10"]
    assert choose(_policy("regex:^main-[0-9a-f]+-"), tags) == "main-0a0a0a-10"


def test_a_digit_that_is_no_decimal_is_a_text() -> None:
    assert choose(_policy("regex:^v"), ["v²", "v1"]) == "v1"


def test_a_tag_without_a_build_time_is_not_the_newest() -> None:
    assert choose(_policy("newest"), ["a", "b"], {"a": "2026-05-02T00:00:00Z"}) == "a"
    assert choose(_policy("newest"), ["a", "b"]) == ""


@pytest.mark.parametrize(
    "text", ["", "head", "commit:x", "semver:latest", "calver:DD", "regex:", "regex:(", "newest:("]
)
def test_what_is_no_policy_is_rejected(text: str) -> None:
    with pytest.raises(PolicyError):
        parse_policy(text)


def test_a_policy_of_any_length_is_not_read() -> None:
    with pytest.raises(PolicyError, match="at most 500"):
        parse_policy("regex:" + "a" * 1000)


_POLICIES = st.sampled_from(["semver:*", "semver:^1", "calver", "calver:YYYY.MM", "regex:[0-9]", "regex:^v", "newest"])
_LISTS = st.lists(st.one_of(st.sampled_from(_TAGS), st.from_regex(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,20}", fullmatch=True)))


@given(_POLICIES, _LISTS, st.randoms())
def test_the_order_of_the_list_does_not_matter(text: str, tags: list[str], random: object) -> None:
    policy, shuffled = _policy(text), list(tags)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    built = dict.fromkeys(tags, "2026-05-02T00:00:00Z")
    chosen = choose(policy, tags, built)
    assert choose(policy, shuffled, built) == chosen
    assert chosen in ("", *candidates(policy, tags))
    assert bool(chosen) == bool(candidates(policy, tags))


@given(_POLICIES, _LISTS)
def test_what_was_chosen_stays_chosen_among_its_like(text: str, tags: list[str]) -> None:
    policy, built = _policy(text), dict.fromkeys(tags, "2026-05-02T00:00:00Z")
    chosen = choose(policy, tags, built)
    assert choose(policy, [chosen, *tags] if chosen else tags, built) == chosen


def test_a_form_of_dates_takes_no_longer_on_a_long_tag() -> None:
    policy = _policy("calver:YYYY" + "MICRO" * 60)
    began = thread_time()
    assert candidates(policy, ["1" * 127 + "x", "1" * 128]) == ["1" * 128]
    assert thread_time() - began < 1.0


def test_a_heavy_pattern_that_matches_many_tags_is_refused() -> None:
    tags = ["a" * 120 + str(number) for number in range(2000)]
    assert choose(_policy("regex:^a+"), tags) == tags[-1]
    began = thread_time()
    with pytest.raises(PolicyError, match="matches 2000 tags, too many to order"):
        choose(_policy("regex:(?:a{0,50}){0,9}[0-9]"), tags)
    assert thread_time() - began < 1.0


def test_the_text_of_a_form_is_no_pattern() -> None:
    assert candidates(_policy("calver:YYYY.0M-a+b"), ["2026.05-a+b", "2026x05-aab"]) == ["2026.05-a+b"]

"""Links to further pages are read from a header that may be hostile."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from homeostat.external.rest.links import parse_links


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        ("", {}),
        ('<https://a/?p=2>; rel="next"', {"next": "https://a/?p=2"}),
        ('<https://a/?p=2>; rel="next", <https://a/?p=9>; rel="last"', {"next": "https://a/?p=2", "last": "https://a/?p=9"}),
        ("</v2/_catalog?last=b&n=2>; rel=next", {"next": "/v2/_catalog?last=b&n=2"}),
        ('<a,b;c>; title="x, <y>; rel=\\"z\\""; rel="Next prev"', {"next": "a,b;c", "prev": "a,b;c"}),
        ("<a>;rel=next,<b>;rel=next", {"next": "a"}),
        ("<a>; crossorigin; rel=next", {"next": "a"}),
        ("<a>", {}),
        ("nonsense", {}),
        ("<a>; rel=next, nonsense", {"next": "a"}),
        ("<a>; rel=next; , <b>; rel=last", {}),
    ],
)  # fmt: skip
def test_links_are_read_by_their_relation(header: str, expected: dict[str, str]) -> None:
    assert parse_links(header) == expected


@given(st.text(st.sampled_from('<>;,="\\ relnxt*'), max_size=200))
def test_any_header_is_read_or_passed_over(header: str) -> None:
    parse_links(header)


def test_a_hostile_header_takes_no_longer_than_its_length() -> None:
    assert parse_links("<a>; x=" + " " * 16_000 + "!") == {}
    assert parse_links("<a>" + "; x" * 5_000 + ' ="') == {}

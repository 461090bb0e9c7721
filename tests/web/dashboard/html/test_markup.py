"""Text becomes part of a page escaped, wherever it stands."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from homeostat.web.dashboard.html.markup import Markup, Node, el, link, text_of
from tests.web.dashboard.site import Document

HOSTILE = "<script>alert('1')</script>\"&"


@pytest.mark.parametrize(
    ("node", "written"),
    [
        ("a < b", "a &lt; b"),
        (None, ""),
        (7, "7"),
        (["a", None, ["&"]], "a&amp;"),
        (Markup("<b>"), "<b>"),
        (el("p", "x", class_="a", data_key="1"), '<p class="a" data-key="1">x</p>'),
        (el("input", value='"><script>'), '<input value="&quot;&gt;&lt;script&gt;">'),
        (el("a", hidden=True, title=None, href=False), "<a hidden></a>"),
    ],
)
def test_what_a_value_is_written_as(node: Node, written: str) -> None:
    assert text_of(node) == written


def test_hostile_text_stays_text() -> None:
    made = el("p", HOSTILE, title=HOSTILE)
    assert "<script" not in made
    assert made.count("&quot;&amp;") == 2


@pytest.mark.parametrize("url", ["javascript:alert(1)", "data:text/html,x", "//evil.example/x", "http://[", "ftp://x"])
def test_a_url_that_is_not_http_is_no_link(url: str) -> None:
    assert "href" not in link(url)


def test_an_http_url_is_a_link() -> None:
    escaped = "https://ci.example/?a=1&amp;b"
    assert link("https://ci.example/?a=1&b") == f'<a href="{escaped}" rel="noopener noreferrer">{escaped}</a>'


@given(st.text(st.characters(exclude_characters="\r\0", exclude_categories=["Cs"])))
def test_whatever_text_is_written_is_read_again(text: str) -> None:
    element = Document(el("p", text, title=text)).one("p")
    assert (element.text, element.attributes["title"]) == (text, text)

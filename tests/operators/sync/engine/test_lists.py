from __future__ import annotations

import pytest

from homeostat.objects.json import Json
from homeostat.operators.sync.engine.errors import ConflictError, ListShapeError, ValidationError
from homeostat.operators.sync.engine.lists.items import identified, items_of, matching
from homeostat.operators.sync.engine.lists.paging import Page, check_new, next_page
from homeostat.operators.sync.engine.metadata.layers import Metadata
from homeostat.operators.sync.engine.metadata.rules import Pagination
from homeostat.operators.sync.engine.tree.directory import directory_of

_RULES = Metadata(directory_of({"n/_/metadata.yaml": b"resource: {id: /uid, alias: /label}"})).rules(
    "/n", is_collection=True
)


@pytest.mark.parametrize("value", [[{}], {"items": [{}], "more": []}, {"only": [{}], "next": "x"}])
def test_three_shapes_are_lists(value: Json) -> None:
    assert items_of(value) == [{}]


@pytest.mark.parametrize("value", [{"a": [], "b": []}, {}, "text", 3])
def test_anything_else_is_no_list(value: Json) -> None:
    with pytest.raises(ListShapeError):
        items_of(value)


def test_items_have_an_alias_and_an_id() -> None:
    found = identified("/n", [{"uid": "2", "label": "b"}, {"uid": "1", "label": "a"}], _RULES)
    assert [(each.path, each.id) for each in found] == [("/n/a", "1"), ("/n/b", "2")]
    assert matching(found, "2") is found[1]
    with pytest.raises(ConflictError):
        identified("/n", [{"label": "a"}, {"label": "a"}], _RULES)
    for each in (1, {"x": 1}):
        with pytest.raises(ValidationError):
            identified("/n", [each], _RULES)


def test_an_id_of_one_and_an_alias_of_another_are_ambiguous() -> None:
    found = identified("/n", [{"uid": "x", "label": "a"}, {"uid": "y", "label": "x"}], _RULES)
    with pytest.raises(ConflictError):
        matching(found, "x")


def test_pages_follow_links_of_the_same_origin() -> None:
    page = Page("http://h/things", {})
    assert next_page(page, {"items": [], "next": "/things?page=2"}, 0, None, None) == Page(
        "http://h/things", {"page": "2"}
    )
    assert next_page(page, [], 0, "?page=3", None) == Page("http://h/things", {"page": "3"})
    assert next_page(page, {"next": 5}, 1, None, None) is None
    with pytest.raises(ValidationError):
        next_page(page, [], 0, "http://evil/things", None)


def test_pages_follow_parameters_of_the_metadata() -> None:
    page = Page("http://h/t", {})
    assert next_page(page, [], 2, None, Pagination(size=2)) == Page("http://h/t", {"page": "2"})
    assert next_page(page, [], 1, None, Pagination(size=2)) is None
    assert next_page(page, [], 2, None, Pagination("offset", "offset")) == Page("http://h/t", {"offset": "2"})
    cursor = Pagination("cursor", "after", cursor="/meta/next")
    assert next_page(page, {"meta": {"next": "c1"}}, 2, None, cursor) == Page("http://h/t", {"after": "c1"})


def test_a_loop_of_pages_is_an_error() -> None:
    seen = set[object]()
    check_new(seen, Page("http://h/t", {"page": "1"}))
    with pytest.raises(ValidationError):
        check_new(seen, Page("http://h/t", {"page": "1"}))

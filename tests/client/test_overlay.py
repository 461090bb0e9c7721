"""What is not seen stays as it was."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from homeostat.client.overlay import overlay
from homeostat.objects.json import Json

WEB = {"name": "web", "image": "web:1", "ports": [80]}
LOG = {"name": "log", "image": "log:1", "tty": True}
SEEN = [{"name": "web", "image": "web:1"}, {"name": "log", "image": "log:1"}]


@pytest.mark.parametrize(
    ("whole", "old", "new", "result"),
    [
        pytest.param({"a": 1, "b": 2}, {"a": 1}, {"a": 3}, {"a": 3, "b": 2}, id="a field is changed"),
        pytest.param({"a": {"x": 1, "y": 2}}, {"a": {"x": 1}}, {"a": {"x": 2}}, {"a": {"x": 2, "y": 2}}, id="deep"),
        pytest.param({"a": 1, "b": 2}, {"a": 1}, {"a": None}, {"b": 2}, id="None takes away"),
        pytest.param({"a": 1, "b": 2}, {"a": 1}, {}, {"b": 2}, id="so does absence"),
        pytest.param({"b": 2}, {"a": 0}, {"a": 0}, {"b": 2}, id="a default that was not there is not written"),
        pytest.param({}, {"a": None}, {"a": {"x": 1}}, {"a": {"x": 1}}, id="a part that was not there"),
        pytest.param([1, 2], [1, 2], [2, 3], [2, 3], id="plain lists"),
        pytest.param(
            [WEB, LOG], SEEN, [{"name": "web", "image": "web:2"}, SEEN[1]], [{**WEB, "image": "web:2"}, LOG],
            id="items keep what was not seen",
        ),
        pytest.param([WEB, LOG], SEEN, [SEEN[1], SEEN[0]], [LOG, WEB], id="items may change places"),
        pytest.param([WEB, LOG], SEEN, [SEEN[1]], [LOG], id="an item goes"),
        pytest.param([WEB], SEEN[:1], [*SEEN[:1], {"name": "x"}], [WEB, {"name": "x"}], id="an item comes"),
        pytest.param(
            [{"port": 53, "protocol": "TCP"}, {"port": 53, "protocol": "UDP"}], [{"port": 53}, {"port": 53}],
            [{"port": 53}, {"port": 53}, {"port": 80}],
            [{"port": 53, "protocol": "TCP"}, {"port": 53, "protocol": "UDP"}, {"port": 80}],
            id="items that look alike stay apart",
        ),
        pytest.param({"a": [1]}, {"a": [1]}, {"a": {"b": 1}}, {"a": {"b": 1}}, id="another type"),
    ],
)  # fmt: skip
def test_only_what_was_changed_is_changed(whole: Json, old: Json, new: Json, result: Json) -> None:
    assert overlay(whole, old, new) == result


trees = st.recursive(
    st.integers(0, 3), lambda inner: st.dictionaries(st.sampled_from("abc"), inner) | st.lists(inner, max_size=3)
)


@given(trees, trees)
def test_who_sees_everything_writes_everything(whole: Json, new: Json) -> None:
    assert overlay(whole, whole, new) == new

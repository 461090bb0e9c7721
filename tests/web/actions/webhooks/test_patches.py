"""What a mutating webhook may do to a spec."""

from __future__ import annotations

import contextlib
import copy

import pytest
from hypothesis import given
from hypothesis import strategies as st

from homeostat.objects.json import JsonObject
from homeostat.web.actions.webhooks.patches import Patch, PatchError, apply_patches

DONE = {
    "add": ([Patch("add", "/replicas", 3)], {"engine": "postgres", "config": {"a": 1}, "replicas": 3}),
    "add below spec": ([Patch("add", "/spec/replicas", 3)], {"engine": "postgres", "config": {"a": 1}, "replicas": 3}),
    "add where there is one": ([Patch("add", "/engine", "my")], {"engine": "my", "config": {"a": 1}}),
    "replace where there is none": (
        [Patch("replace", "/ha", True)],
        {"engine": "postgres", "config": {"a": 1}, "ha": True},
    ),
    "inside an object": ([Patch("add", "/config/b", 2)], {"engine": "postgres", "config": {"a": 1, "b": 2}}),
    "remove": ([Patch("remove", "/config/a")], {"engine": "postgres", "config": {}}),
    "null is a value": ([Patch("add", "/engine")], {"engine": None, "config": {"a": 1}}),
    "one after the other": (
        [Patch("add", "/net", {}), Patch("add", "/net/port", 1), Patch("remove", "/config")],
        {"engine": "postgres", "net": {"port": 1}},
    ),
    "a member called spec": (
        [Patch("add", "/spec/spec", 1)],
        {"engine": "postgres", "config": {"a": 1}, "spec": 1},
    ),
}
REFUSED = {
    "no parent": Patch("add", "/settings/timeout", 1),
    "a parent that is no object": Patch("add", "/engine/timeout", 1),
    "no path": Patch("add", "", 1),
    "the root": Patch("add", "/", 1),
    "the whole spec": Patch("replace", "/spec", {}),
    "an empty step": Patch("add", "/config//b", 1),
    "no leading slash": Patch("add", "config", 1),
    "move": Patch("move", "/engine", "/motor"),
    "test": Patch("test", "/engine", "postgres"),
    "remove what is not there": Patch("remove", "/ha"),
}


def spec() -> JsonObject:
    return {"engine": "postgres", "config": {"a": 1}}


@pytest.mark.parametrize(("patches", "expected"), DONE.values(), ids=DONE)
def test_a_patch_is_carried_out(patches: list[Patch], expected: JsonObject) -> None:
    assert apply_patches(spec(), patches) == expected


@pytest.mark.parametrize("patch", REFUSED.values(), ids=REFUSED)
def test_a_patch_that_cannot_be_carried_out_is_an_error(patch: Patch) -> None:
    with pytest.raises(PatchError):
        apply_patches(spec(), [patch])


_names = st.sampled_from(["a", "b", "spec", ""])
_objects = st.recursive(st.integers(), lambda inner: st.dictionaries(_names, inner, max_size=3), max_leaves=8)
_patches = st.builds(
    Patch, st.sampled_from(["add", "replace", "remove"]), st.lists(_names).map(lambda at: "/" + "/".join(at)), _objects
)


@given(st.dictionaries(_names, _objects, max_size=3), st.lists(_patches, max_size=4))
def test_the_spec_given_is_never_changed(given_spec: JsonObject, patches: list[Patch]) -> None:
    before = copy.deepcopy(given_spec)
    with contextlib.suppress(PatchError):
        apply_patches(given_spec, patches)
    assert given_spec == before

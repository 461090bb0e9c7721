"""No JSON at all makes the rules of a built-in kind raise."""

from __future__ import annotations

import copy
import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from homeostat.objects.json import Json, JsonObject
from homeostat.server.kinds.builtins.checks import check, check_changed, check_update
from homeostat.server.kinds.builtins.convert import (
    autoscaler_to_v1,
    autoscaler_to_v2,
    event_to_core,
    event_to_events,
)
from homeostat.server.kinds.builtins.defaults import apply_defaults
from homeostat.server.view.table import columns_of
from tests.examples import examples
from tests.server.kinds.builtins.manifests import GOOD, defaulted

KINDS = [*GOOD, ("certificates.k8s.io", "CertificateSigningRequest"), ("x", "Other")]
_leaves = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=5)
)
_words = st.sampled_from(
    ["metadata", "spec", "status", "template", "containers", "name", "selector", "data", "rules", "webhooks", "ports"]
)
any_json = st.recursive(
    _leaves,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_words | st.text(max_size=3), inner, max_size=4),
    max_leaves=12,
)
any_object = st.dictionaries(_words, any_json, max_size=6)


WRONG: list[Json] = [None, 0, -1, 1.5, True, "", "\u00e9 \n", [], [None], [{}], {}, {"": ""}, {"x": [1]}]


def exercise(group: str, kind: str, new: JsonObject, old: JsonObject) -> None:
    columns = columns_of(group, kind)
    for obj in (new, old):
        check(group, kind, obj)
        columns.render(columns.prepare(obj), 1e9)
        apply_defaults(group, kind, obj)
        check(group, kind, obj)
        columns.cells(obj, 1e9)
        for convert in (autoscaler_to_v1, autoscaler_to_v2, event_to_core, event_to_events):
            convert(obj)
    check_changed(group, kind, new, old)
    check_update(group, kind, new, old)


@examples(60)
@given(any_object, any_object)
def test_arbitrary_objects_are_answered(new: JsonObject, old: JsonObject) -> None:
    for group, kind in KINDS:
        exercise(group, kind, copy.deepcopy(new), copy.deepcopy(old))


def _spots(value: Json, found: list[tuple[Any, Any]]) -> list[tuple[Any, Any]]:
    for key in value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ():
        found.append((value, key))
        _spots(value[key], found)
    return found


@pytest.mark.parametrize(("group", "kind"), GOOD)
def test_a_good_object_with_one_wrong_member_is_answered(group: str, kind: str) -> None:
    chance = random.Random(f"{group}/{kind}")
    good = defaulted(group, kind, GOOD[group, kind], uid="u")
    for at in range(len(_spots(good, []))):
        for wrong in WRONG:
            spoiled = copy.deepcopy(good)
            holder, key = _spots(spoiled, [])[at]
            holder[key] = wrong
            if chance.random() < 0.5:
                exercise(group, kind, spoiled, copy.deepcopy(good))
            else:
                exercise(group, kind, copy.deepcopy(good), spoiled)

"""A definition that was taken can be served, whatever it leaves out: one bad one must not hide those after it."""

from __future__ import annotations

from typing import Any

import pytest

from tests.api.objects import CRDS
from tests.fuzz.driver import Driver, assert_answered_well
from tests.fuzz.kinds import crd_of
from tests.fuzz.values import ODD_VALUES, paths_of, with_value

THIN: dict[str, Any] = crd_of("Thin", {"type": "object"})


def served(driver: Driver, plural: str) -> bool:
    return driver.send("GET", f"/apis/example.com/v1/{plural}").status == 200


@pytest.mark.parametrize("path", [path for path in paths_of(THIN) if path[0] == "spec"], ids=repr)
def test_whatever_a_definition_leaves_out_or_sets_the_next_one_is_served(driver: Driver, path: tuple[Any, ...]) -> None:
    for value in ODD_VALUES.values():
        made = driver.send("POST", CRDS, with_value(THIN, path, value))
        assert_answered_well(made)
        assert driver.send("POST", CRDS, crd_of("Next", {"type": "object"})).status == 201
        assert served(driver, "nexts")
        for name in ("nexts", *(["thins"] if made.status == 201 else [])):
            obj = driver.send("GET", f"{CRDS}/{name}.example.com").json
            obj["metadata"]["finalizers"] = []
            assert driver.send("PUT", f"{CRDS}/{name}.example.com", obj).status == 200
            assert driver.send("DELETE", f"{CRDS}/{name}.example.com").status == 200
        assert not served(driver, "nexts")

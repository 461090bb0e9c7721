"""Which names of a definition are accepted."""

from __future__ import annotations

from homeostat.objects.crd.accepted import accept_names

HELD = {
    "plural": "widgets",
    "singular": "widget",
    "shortNames": ["w", "wd"],
    "kind": "Widget",
    "listKind": "WidgetList",
}
WHEELS = {"plural": "wheels", "singular": "wheel", "shortNames": ["w", "wh"], "kind": "Wheel", "listKind": "WheelList"}


def test_a_name_that_the_definition_has_already_never_conflicts() -> None:
    """Two replicas can accept one name for two definitions at the same time."""
    same = {**WHEELS, "kind": "Widget"}
    assert accept_names(HELD, HELD, [same]).reason == ""
    fewer = {**HELD, "shortNames": ["w"]}
    assert accept_names(fewer, HELD, [same]) == (fewer, "", "")


def test_a_name_in_conflict_stays_what_it_was() -> None:
    wanted = {**HELD, "singular": "widge", "shortNames": ["w", "wh"]}
    decision = accept_names(wanted, HELD, [WHEELS])
    assert (decision.reason, decision.message) == ("ShortNamesConflict", '"wh" is already in use')
    assert decision.names == {**HELD, "singular": "widge"}

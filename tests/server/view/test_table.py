"""Rows of tables, prepared once and rendered for every request."""

from __future__ import annotations

import msgspec
import pytest

from homeostat.objects.json import Json, JsonObject
from homeostat.objects.json.path import MAX_STEPS, Budget
from homeostat.objects.time.age import epoch_of
from homeostat.server.view.table import columns_of

CREATED = "2026-01-02T03:04:05Z"
NOW = epoch_of(CREATED) or 0.0


def widget(**members: Json) -> JsonObject:
    return {"metadata": {"name": "w", "creationTimestamp": CREATED}, **members}


def cell(kind: str, path: str, obj: JsonObject, *, later: float = 300.0) -> Json:
    column = {"name": "X", "type": kind, "jsonPath": path}
    return columns_of("example.com", "Widget", [column], custom=True).cells(obj, NOW + later)[1]


@pytest.mark.parametrize(
    ("kind", "value", "shown"),
    [
        ("string", "a", "a"),
        ("string", 3, "3"),
        ("string", True, "true"),
        ("string", {"b": 1, "a": 2}, '{"a":2,"b":1}'),
        ("string", ["x"], '["x"]'),
        ("string", None, None),
        ("integer", 3, 3),
        ("integer", 3.7, 3),
        ("integer", "3", None),
        ("integer", True, None),
        ("number", 3, 3.0),
        ("boolean", False, False),
        ("boolean", "yes", None),
        ("date", CREATED, "5m"),
        ("date", "soon", "<invalid>"),
        ("date", 3, None),
        ("unheard-of", "a", None),
    ],
)
def test_a_custom_column_shows_values_of_its_type(kind: str, value: Json, shown: Json) -> None:
    assert cell(kind, ".spec.x", widget(spec={"x": value})) == shown


def test_what_a_column_does_not_find_is_null() -> None:
    assert cell("string", ".status.phase", widget()) is None


def test_a_filter_finds_the_condition() -> None:
    conditions = [{"type": "Synced", "status": "False"}, {"type": "Ready", "status": "True"}]
    path = '.status.conditions[?(@.type=="Ready")].status'
    assert cell("string", path, widget(status={"conditions": conditions})) == "True"


def test_a_custom_kind_without_columns_shows_name_and_age() -> None:
    columns = columns_of("example.com", "Widget", custom=True)
    assert [each.name for each in columns.columns] == ["Name", "Age"]
    assert columns.cells(widget(), NOW + 90) == ["w", "90s"]


def test_definitions_are_as_on_the_wire() -> None:
    column = {"name": "Phase", "type": "string", "jsonPath": ".status.phase", "priority": 1, "format": "byte"}
    definitions = msgspec.json.decode(columns_of("x", "Y", [column], custom=True).definitions)
    assert definitions[0]["name"] == "Name"
    assert definitions[0]["format"] == "name"
    assert definitions[1] == {
        "name": "Phase",
        "type": "string",
        "format": "byte",
        "description": "Custom resource definition column (in JSONPath format): .status.phase",
        "priority": 1,
    }


def test_a_path_that_cannot_be_read_leaves_its_column_out() -> None:
    columns = columns_of("x", "Y", [{"name": "Bad", "type": "string", "jsonPath": ".a["}], custom=True)
    assert [each.name for each in columns.columns] == ["Name", "Age"]


POD = {
    "metadata": {"name": 'we"b', "creationTimestamp": CREATED},
    "spec": {"containers": [{"name": "c", "image": "i"}]},
    "status": {
        "phase": "Running",
        "containerStatuses": [{"restartCount": 2, "lastState": {"terminated": {"finishedAt": "2026-01-02T03:05:05Z"}}}],
    },
}


@pytest.mark.parametrize("later", [60.0, 3600.0, 86400.0 * 30])
def test_a_rendered_row_is_the_encoded_cells(later: float) -> None:
    columns = columns_of("", "Pod")
    rendered = columns.render(columns.prepare(POD), NOW + later)
    assert msgspec.json.decode(rendered) == columns.cells(POD, NOW + later)


def test_a_row_without_an_age_is_ready_as_it_is() -> None:
    columns = columns_of("rbac.authorization.k8s.io", "Role")
    row = columns.prepare({"metadata": {"name": "r", "creationTimestamp": CREATED}})
    assert row.at is None
    assert columns.render(row, NOW) == b'["r","2026-01-02T03:04:05Z"]'


def test_a_prepared_row_grows_older() -> None:
    columns = columns_of("", "ConfigMap")
    row = columns.prepare(widget(data={"a": "b"}))
    assert [columns.render(row, NOW + each) for each in (5, 7200)] == [b'["w",1,"5s"]', b'["w",1,"120m"]']


def test_the_columns_of_a_row_share_their_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each alone may take 20,000 steps, and a definition has up to 256 columns: 0.4 s for a row."""
    spent: list[int] = []
    spend = Budget.spend

    def counted(budget: Budget, steps: int) -> None:
        spent.append(steps)
        spend(budget, steps)

    monkeypatch.setattr(Budget, "spend", counted)
    given = [{"name": f"C{at}", "type": "integer", "jsonPath": "..a..b"} for at in range(200)]
    given.append({"name": "Plain", "type": "string", "jsonPath": ".spec.c"})
    columns = columns_of("example.com", "Widget", given, custom=True)
    cells = columns.cells(widget(spec={"a": [{"b": 1}] * 1000, "c": "shown"}), NOW)
    assert (cells[1], cells[-2], cells[-1]) == (1, None, "shown")
    assert sum(spent) < 2 * MAX_STEPS
    assert columns.weight > 10 * 200, "lists with such columns are made in a thread"

"""Plugins are found by entry points; one that cannot be loaded is reported and harms nobody."""

from __future__ import annotations

import sys
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from homeostat.external.rest.client import RestClient
from homeostat.operators.actions.plugins.catalog import (
    ACTIONS,
    Catalog,
    UnknownPluginError,
    claimed_types,
    discover,
    disputed_types,
)
from homeostat.operators.actions.plugins.plugin import Local, Remote, Tools

SOURCE = """
class Good:
    def __init__(self, *given):
        self.given = given

def broken(*_):
    raise RuntimeError("no licence")
"""


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    (tmp_path / "shop_plugins.py").write_text(SOURCE)
    (tmp_path / "shop_wrong.py").write_text("import no_such_module")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "shop_plugins", raising=False)
    return "shop_plugins"


def point(name: str, value: str) -> EntryPoint:
    return EntryPoint(name, value, "homeostat.actions")


def test_what_packages_offer_is_made_with_what_is_given(module: str) -> None:
    found = discover("homeostat.actions", "tools", points=[point("good", f"{module}:Good")])
    assert list(found) == ["good"]
    assert found.get("good").given == ("tools",)


def test_what_cannot_be_loaded_is_reported_and_the_rest_works(module: str, caplog: pytest.LogCaptureFixture) -> None:
    points = [
        point("wrong", "shop_wrong:Plugin"),
        point("broken", f"{module}:broken"),
        point("missing", f"{module}:Missing"),
        point("good", f"{module}:Good"),
    ]
    found = discover("homeostat.actions", points=points)
    assert list(found) == ["good"]
    assert set(found.troubles) == {"wrong", "broken", "missing"}
    assert found.troubles["broken"] == "RuntimeError: no licence"
    assert len(caplog.records) == 3
    with pytest.raises(UnknownPluginError, match='"wrong" cannot be loaded: ModuleNotFoundError'):
        found.get("wrong")


def test_an_unknown_name_is_reported_with_those_that_exist(module: str) -> None:
    found = discover("homeostat.actions", points=[point("good", f"{module}:Good")])
    with pytest.raises(UnknownPluginError, match='unknown plugin "bad"; known plugins: good'):
        found.get("bad")


def test_only_what_is_enabled_is_loaded(module: str) -> None:
    points = [point("good", f"{module}:Good"), point("other", f"{module}:Good")]
    found = discover("homeostat.actions", points=points, enabled=["good", "absent"])
    assert list(found) == ["good"]
    assert found.troubles == {"absent": "enabled but not installed"}


def test_a_package_may_replace_one_of_ours(module: str) -> None:
    found = discover("homeostat.actions", 1, points=[point("http", f"{module}:Good")], ours=ACTIONS)
    assert found.get("http").given == (1,)


async def test_ours_are_all_there_and_are_plugins() -> None:
    found = discover("homeostat.actions", Tools(RestClient(), {}), points=[], ours=ACTIONS)
    assert found.troubles == {}
    plugins = {name: found.get(name) for name in found}
    assert all(plugin.name == name for name, plugin in plugins.items())
    kinds = {name: (isinstance(each, Local), isinstance(each, Remote)) for name, each in plugins.items()}
    assert {"command", "http", "terraform"} <= {name for name, kind in kinds.items() if kind == (True, False)}
    assert {"github_actions", "gitlab_ci"} == {name for name, kind in kinds.items() if kind == (False, True)}


class Claiming:
    def __init__(self, *types: str) -> None:
        self.resource_types = types


def test_reconcilers_claim_types_and_what_two_claim_is_nobodys() -> None:
    found = Catalog({"a": Claiming("One", "Two"), "b": Claiming("Two", "Three")}, {})
    assert claimed_types(found) == {"One": "a", "Three": "b"}
    assert disputed_types(found) == {"Two": ("a", "b")}


def test_a_reconciler_may_claim_one_type_by_its_bare_name_and_none_at_all() -> None:
    one, none = Claiming(), object()
    one.resource_types = "One"  # type: ignore[assignment]
    assert claimed_types(Catalog({"a": one, "b": none}, {})) == {"One": "a"}

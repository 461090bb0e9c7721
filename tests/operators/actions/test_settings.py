"""What whoever starts the process says counts, below what types say, and is refused where it makes no sense."""

from __future__ import annotations

from pathlib import Path

import pytest

from homeostat.cli.operators import programs
from homeostat.external.environment import SettingError
from homeostat.objects.json import JsonObject
from homeostat.operators import actions
from homeostat.operators.actions.api import Keep, ResourceTypeSpec, Retry
from homeostat.operators.actions.dependencies import open_in_setup
from homeostat.operators.actions.plugins.catalog import PluginOffError
from homeostat.operators.actions.schedule import Delays
from homeostat.operators.actions.settings import ALLOW_PROGRAMS, ActionSettings, read_settings
from homeostat.operators.actions.world import ResourcePace
from homeostat.runtime.manager import Manager
from homeostat.testing.eventually import eventually
from homeostat.testing.plane import open_test_plane
from homeostat.testing.status import condition_of

TYPES = "/apis/homeostat.dev/v1alpha1/resourcetypes"
NOTES = "/apis/resources.homeostat.dev/v1/namespaces/default/notes"


def test_without_any_variable_all_is_as_usual() -> None:
    assert read_settings({}) == ActionSettings()
    assert ActionSettings().pace_of(ResourceTypeSpec(name="Note")) == ResourcePace(300.0, Delays(60, 3600, 0.1), Keep())


def test_every_variable_counts() -> None:
    settings = read_settings(
        {
            ALLOW_PROGRAMS: "true",
            "ENABLED_ACTION_PLUGINS": " http , command,",
            "PLUGIN_CONFIGS": '{"http": {"timeoutSeconds": 5}}',
            "RECONCILE_INTERVAL": "60",
            "BACKOFF_BASE_DELAY": "1",
            "BACKOFF_MAX_DELAY": "2",
            "BACKOFF_JITTER_FACTOR": "0",
            "MAX_CONCURRENT_RECONCILES": "5",
        }
    )
    assert settings == ActionSettings(
        allows_programs=True,
        enabled=frozenset({"http", "command"}),
        configs={"http": {"timeoutSeconds": 5}},
        interval_s=60,
        delays=Delays(1, 2, 0),
        concurrency=5,
    )


def test_what_a_type_says_counts_first() -> None:
    settings = ActionSettings(interval_s=60, delays=Delays(1, 2, 0))
    spec = ResourceTypeSpec(name="Note", interval_seconds=7, retry=Retry(max_seconds=9))
    assert settings.pace_of(spec) == ResourcePace(7.0, Delays(1, 9, 0), Keep())


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        (ALLOW_PROGRAMS, "perhaps", "true or false"),
        ("PLUGIN_CONFIGS", "{", "JSON is malformed|truncated"),
        ("PLUGIN_CONFIGS", "[]", "Expected `object`"),
        ("PLUGIN_CONFIGS", '{"http": "secret"}', "Expected `object`"),
        ("RECONCILE_INTERVAL", "soon", "a number from 1"),
        ("BACKOFF_BASE_DELAY", "0", "a number from 1"),
        ("BACKOFF_JITTER_FACTOR", "nan", "a number from 0 to 1"),
        ("MAX_CONCURRENT_RECONCILES", "-1", "a number from 1"),
    ],
)
def test_what_makes_no_sense_is_refused_by_name_and_not_shown(name: str, value: str, expected: str) -> None:
    with pytest.raises(SettingError, match=f"environment variable {name} must be .*({expected})") as caught:
        actions.check_environment({name: value})
    assert "secret" not in str(caught.value)


def test_the_switch_of_the_command_line_is_the_one_that_is_read() -> None:
    assert programs.ALLOW_PROGRAMS == ALLOW_PROGRAMS


@pytest.mark.parametrize(
    ("environment", "off"),
    [
        pytest.param({}, {"command": "--allow-programs", "terraform": "--allow-programs"}, id="programs"),
        pytest.param({ALLOW_PROGRAMS: "1"}, {}, id="all"),
        pytest.param(
            {ALLOW_PROGRAMS: "1", "ENABLED_ACTION_PLUGINS": "http,gitlab_ci,terraform"},
            {"command": "ENABLED_ACTION_PLUGINS", "github_actions": "ENABLED_ACTION_PLUGINS"},
            id="enabled",
        ),
    ],
)
async def test_what_is_off_says_the_switch(tmp_path: Path, environment: dict[str, str], off: dict[str, str]) -> None:
    async with open_test_plane(tmp_path) as plane:
        setup = Manager(plane.client, environment=environment).add("none", lambda _: None)
        async with open_in_setup(setup, read_settings(environment)) as dependencies:
            assert dependencies.plugins.off.keys() == off.keys()
            for name, switch in off.items():
                with pytest.raises(PluginOffError, match=switch):
                    dependencies.plugins.get(name)


async def test_dependencies_are_opened_again_for_each_leadership(tmp_path: Path) -> None:
    async with open_test_plane(tmp_path) as plane:
        setup = Manager(plane.client).add("none", lambda _: None)
        async with open_in_setup(setup, ActionSettings()) as first:
            first.fresh.add("u-1-1")
        async with open_in_setup(setup, ActionSettings()) as second:
            assert second.fresh == set()


async def declared(tmp_path: Path, environment: dict[str, str], action: JsonObject) -> JsonObject:
    """The resource of a type with this action, once the operator has said something of it."""
    async with open_test_plane(tmp_path / "data", actions, environment=environment) as plane:
        client = plane.client
        given = {"apiVersion": "homeostat.dev/v1alpha1", "kind": "ResourceType", "metadata": {"name": "note"}}
        await client.create(TYPES, {**given, "spec": {"name": "Note", "schema": {"type": "object"}, "action": action}})
        await eventually(
            lambda: client.get(f"{TYPES}/note"), lambda obj: condition_of(obj, "Ready")["status"] == "True"
        )
        note = {"apiVersion": "resources.homeostat.dev/v1", "kind": "Note", "metadata": {"name": "a"}, "spec": {}}
        await client.create(NOTES, note)
        found: JsonObject = await eventually(
            lambda: client.get(f"{NOTES}/a"), lambda obj: condition_of(obj, "Ready")["status"] in {"True", "False"}
        )
        return found


async def test_a_program_is_not_run_unless_it_is_allowed(tmp_path: Path) -> None:
    action = {"plugin": "command", "config": {"apply": ["/bin/sh", "-c", f"touch {tmp_path}/ran"]}}
    obj = await declared(tmp_path, {}, action)
    assert obj["status"]["message"].startswith('PluginOff: the plugin "command" is disabled: ')
    assert "--allow-programs" in obj["status"]["message"]
    assert not (tmp_path / "ran").exists()


async def test_a_default_configuration_is_below_that_of_the_type(tmp_path: Path) -> None:
    configs = f'{{"command": {{"apply": ["/bin/sh", "-c", "touch {tmp_path}/ran"], "timeoutSeconds": 9}}}}'
    obj = await declared(tmp_path, {ALLOW_PROGRAMS: "1", "PLUGIN_CONFIGS": configs}, {"plugin": "command"})
    assert obj["status"]["phase"] == "ready"
    assert (tmp_path / "ran").exists()

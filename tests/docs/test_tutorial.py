"""The tutorial shows the examples as they are, and they work as it says."""

from __future__ import annotations

import os
import re
import sys
from asyncio import create_subprocess_exec, wait_for
from asyncio.subprocess import PIPE, STDOUT
from pathlib import Path
from shutil import copytree, ignore_patterns

import pytest

from homeostat.cli.operators.deploy.access import access_documents
from homeostat.client.base import Client
from homeostat.client.discovery import Discovery
from homeostat.client.in_process import InProcess
from homeostat.objects.json import JsonObject
from homeostat.objects.yaml.reader import load_all
from homeostat.operators.access import rules_of
from homeostat.operators.catalog import load_operator
from homeostat.plane import Settings, open_plane
from homeostat.runtime.installation import install
from homeostat.runtime.manager import Manager
from homeostat.server.access.user import AUTHENTICATED, User
from homeostat.testing.eventually import eventually
from homeostat.testing.status import condition_of
from tests.cli.permissions import granted_by
from tests.docs.documents import EXAMPLES, text_of

_SHOWN = re.findall(r"^```python\n(.*?)^```$", text_of("docs/tutorial.md"), re.MULTILINE | re.DOTALL)
_FOLDERS = ["greeter", "postbox"]
_FILES = {path: path.read_text() for folder in _FOLDERS for path in (EXAMPLES / folder).glob("*.py")}
_GREETER = EXAMPLES / "greeter" / "greeter.py"


def test_the_operator_has_fewer_than_sixty_lines() -> None:
    assert len(_FILES[_GREETER].splitlines()) < 60


def test_the_operator_is_shown_whole() -> None:
    assert _FILES[_GREETER] in _SHOWN


@pytest.mark.parametrize("shown", _SHOWN, ids=[each.splitlines()[0] for each in _SHOWN])
def test_what_is_shown_stands_in_an_example(shown: str) -> None:
    assert any(shown in text for text in _FILES.values())


async def _pytest(folder: Path, *arguments: str) -> str:
    """As one does who installed what the tutorial names and nothing more."""
    command = [sys.executable, "-m", "pytest", "-p", "asyncio", "-p", "no:cacheprovider", *arguments]
    environ = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTHONDONTWRITEBYTECODE": "1"}
    run = await create_subprocess_exec(*command, cwd=folder, env=environ, stdout=PIPE, stderr=STDOUT)
    told, _ = await wait_for(run.communicate(), 50)
    assert run.returncode == 0, told.decode()
    return told.decode()


@pytest.mark.parametrize("folder", _FOLDERS)
async def test_an_example_is_tested_where_it_is(folder: str) -> None:
    assert "warning" not in (await _pytest(EXAMPLES / folder)).lower()


@pytest.mark.parametrize("leave_out", ["", "pytest.ini"], ids=["whole", "its code alone"])
async def test_a_copy_of_an_example_is_tested_anywhere(tmp_path: Path, leave_out: str) -> None:
    own = Path(copytree(_GREETER.parent, tmp_path / "own", ignore=ignore_patterns(leave_out, "__pycache__")))
    await _pytest(own, "-k", "drift")


def test_the_packages_named_for_the_tests_are_those_they_use() -> None:
    (named,) = re.findall(r"^pip install (.+)$", text_of("docs/tutorial.md"), re.MULTILINE)
    used = {name for text in _FILES.values() for name in re.findall(r"^import (pytest\w*)$", text, re.MULTILINE)}
    assert {name.replace("-", "_") for name in named.split()} == used


@pytest.mark.parametrize("folder", _FOLDERS)
def test_the_definition_beside_an_operator_is_made_from_its_types(folder: str) -> None:
    module = load_operator(str(EXAMPLES / folder / f"{folder}.py"))
    written = list(load_all((EXAMPLES / folder / "crd.yaml").read_bytes()))
    assert written == [each.definition() for each in module.KINDS]


def _objects(name: str, folder: str = "greeter") -> list[JsonObject]:
    return list(load_all((EXAMPLES / folder / name).read_bytes()))


async def _apply(client: Client, objects: list[JsonObject]) -> None:
    discovery = Discovery(client)
    for obj in objects:
        kind = await discovery.find(obj["apiVersion"], obj["kind"])
        path = kind.path(obj["metadata"].get("namespace", ""), obj["metadata"]["name"])
        await client.apply(path, obj, manager="tutorial")


def test_the_rules_of_the_operator_are_those_of_the_role_beside_it() -> None:
    rules = rules_of("greeter", load_operator(str(_GREETER)))
    (written,) = [each["rules"] for each in _objects("rbac.yaml") if each["kind"] == "ClusterRole"]
    assert granted_by(rules) == granted_by(written)


@pytest.mark.parametrize(("folder", "file"), [("greeter", "greeting.yaml"), ("postbox", "postcard.yaml")])
async def test_what_rbac_prints_for_an_example_is_enough_to_run_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, folder: str, file: str
) -> None:
    monkeypatch.setenv("POSTBOX", str(tmp_path))
    module = load_operator(str(EXAMPLES / folder / f"{folder}.py"))
    (declared,) = _objects(file, folder)
    path = module.KINDS[0].kind.path("default", declared["metadata"]["name"])
    rules = {folder: rules_of(folder, module)}
    async with open_plane(Settings(data=tmp_path / "data", port=0, operators=frozenset())) as plane:
        await install(plane.client, module.KINDS)
        await _apply(plane.client, access_documents(rules, namespace="ops", account="keeper", has_election=True))
        account = User("system:serviceaccount:ops:keeper", groups=(AUTHENTICATED,))
        manager = Manager(Client(InProcess(plane.app.handle, {"user": account})), leases="ops")
        manager.add(folder, module.register)
        async with manager.running():
            await _apply(plane.client, [declared])
            await eventually(lambda: plane.client.get(path), lambda obj: condition_of(obj, "Ready")["status"] == "True")
            await plane.client.delete(path)
            await eventually(lambda: plane.client.list(module.KINDS[0].kind.path("")), lambda found: not found[0])
        assert manager.recorder.failed == 0


async def test_the_roles_of_the_example_are_enough_to_run_it(tmp_path: Path) -> None:
    greeter = load_operator(str(_GREETER))
    (kind,) = greeter.KINDS
    async with open_plane(Settings(data=tmp_path, port=0, operators=frozenset())) as plane:
        await install(plane.client, greeter.KINDS)
        await _apply(plane.client, _objects("rbac.yaml"))
        account = User("system:serviceaccount:default:greeter", groups=(AUTHENTICATED,))
        manager = Manager(Client(InProcess(plane.app.handle, {"user": account})), leases="default")
        manager.add("greeter", greeter.register)
        async with manager.running():
            await _apply(plane.client, _objects("greeting.yaml"))
            path = kind.kind.path("default", "morning")
            await eventually(lambda: plane.client.get(path), lambda obj: condition_of(obj, "Ready")["status"] == "True")
        assert (manager.recorder.written, manager.recorder.failed) == (1, 0)

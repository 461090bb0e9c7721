"""The dashboard is a face of every process that serves faces, unless the REST API serves it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

import aiohttp
import pytest

from homeostat.operators.catalog import find_operator
from homeostat.operators.dashboard import DASHBOARD, with_dashboard
from homeostat.plane import Settings, open_plane
from homeostat.runtime.faces.face import Face
from homeostat.runtime.faces.listeners import FaceChoice, Place
from tests.faces import face_url
from tests.runtime.faces.test_hosting import FILE, HERE, address, ask, started

REST = find_operator("actions").faces[0]
HOOKS = Face(name="hooks", title="webhooks", prefixes=("/hooks",), open="nowhere:app")


def test_the_dashboard_is_added_where_no_face_serves_it() -> None:
    assert with_dashboard([HOOKS]) == [DASHBOARD, HOOKS]
    assert with_dashboard([HOOKS, REST]) == [HOOKS, REST]
    assert with_dashboard([REST], without={"rest"}) == [DASHBOARD, REST]


def test_the_dashboard_gets_a_port_of_its_own_beside_the_rest_api_if_it_is_named() -> None:
    assert with_dashboard([REST], own={"dashboard"}) == [DASHBOARD, REST]


def test_without_the_dashboard_no_face_shows_or_serves_it() -> None:
    _, rest = with_dashboard([REST], without={"dashboard"})
    assert rest.pages == (("REST API", "/api/v1"),)
    assert rest.sign_in == ""


def test_an_operators_own_face_of_that_name_replaces_it() -> None:
    own = Face(name="dashboard", title="board", prefixes=("/board",), open="nowhere:app")
    assert with_dashboard([own]) == [own]


def choice(*without: str) -> FaceChoice:
    return FaceChoice(shared=Place(HERE, 0), without=frozenset(without))


async def fetch(url: str, headers: Mapping[str, str] | None = None) -> tuple[int, str]:
    async with aiohttp.ClientSession() as session, session.get(url, headers=headers, allow_redirects=False) as answer:
        return answer.status, answer.headers.get("Location", "") or await answer.text()


async def test_a_plane_without_the_rest_api_serves_the_dashboard_of_all_sections(tmp_path: Path) -> None:
    operators = frozenset({"policy"})
    settings = Settings(data=tmp_path / "plane", port=0, is_open=True, operators=operators, faces=choice())
    async with open_plane(settings) as plane:
        url = face_url(plane, "dashboard")
        assert await fetch(f"{url}/") == (303, "/dashboard")
        status, home = await fetch(f"{url}/dashboard")
        sections = re.findall(r'<li><a href="/dashboard/([a-z-]+)"', home)
        assert status == 200
        assert {"contracts", "images", "policies", "sync", "workloads", "operators", "access", "objects"} <= {*sections}
        assert "resources" not in sections
        assert "/docs" not in home
        assert (await fetch(f"{url}/docs"))[0] == 404
        assert "No REST API is served here" in (await fetch(f"{url}/dashboard/access/users"))[1]


async def test_it_takes_tokens_of_the_kubernetes_api_and_no_passwords(tmp_path: Path) -> None:
    settings = Settings(data=tmp_path / "plane", port=0, is_open=True, operators=frozenset({"policy"}), faces=choice())
    async with open_plane(settings) as plane:
        url = f"{face_url(plane, 'dashboard')}/dashboard/login"
        assert 'name="password"' not in (await fetch(url))[1]
        form, headers = {"username": "admin", "password": "admin"}, {"Origin": url.removesuffix("/dashboard/login")}
        async with aiohttp.ClientSession() as session, session.post(url, data=form, headers=headers) as answer:
            assert (answer.status, "enter a token" in await answer.text()) == (401, True)


@pytest.mark.parametrize("without", ["rest", "dashboard"])
async def test_the_rest_api_and_the_dashboard_can_be_left_out_apart(tmp_path: Path, without: str) -> None:
    operators = frozenset({"actions"})
    settings = Settings(data=tmp_path / "plane", port=0, is_open=True, operators=operators, faces=choice(without))
    async with open_plane(settings) as plane:
        (served,) = {each.url for each in plane.faces}
        found = {path: (await fetch(f"{served}{path}"))[0] for path in ("/dashboard", "/api/v1/resource-types")}
    assert found == {
        "/dashboard": 200 * (without == "rest") or 404,
        "/api/v1/resource-types": 404 if without == "rest" else 200,
    }


async def test_run_serves_the_dashboard_beside_the_faces_of_its_operators(tmp_path: Path) -> None:
    up = ("up", "--open", "--data", str(tmp_path / "plane"), "--port", "0", "--operators", "none")
    run = ("run", "--kubeconfig", str(tmp_path / "plane/kubeconfig"), "--health", "none", "--operators", FILE)
    with started(*up):
        with started(*run, "--faces-open", "--faces-port", "0") as beside:
            status, home = await ask(address(beside, "dashboard"))
            assert (status, "Policies" in home) == (200, True)
        with started(*run, "--faces-open", "--faces-port", "0", "--no-dashboard") as beside:
            assert "dashboard" not in beside

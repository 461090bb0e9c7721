"""A real plane and a real HTTPS server of webhooks for each test that asks for them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from homeostat.edge.tls.context import server_context
from homeostat.plane import Plane, Settings, open_plane
from homeostat.server.pki.authority import Authority, Subject, issue, make_authority
from homeostat.server.pki.keys import new_key
from tests.api.conftest import Api
from tests.server.admission.hooks import Hooks, Identity, serving


@pytest.fixture(scope="session")
def identity(tmp_path_factory: pytest.TempPathFactory) -> Identity:
    directory = tmp_path_factory.mktemp("webhooks")
    now = datetime.now(UTC)
    authority_key, server_key = new_key(), new_key()
    authority = make_authority(authority_key, now=now)
    hosts = frozenset({"localhost", "hooks.default.svc"})
    certificate = issue(Authority(authority, authority_key), Subject("hooks", hosts=hosts), key=server_key, now=now)
    (directory / "server.crt").write_bytes(certificate)
    (directory / "server.key").write_bytes(server_key)
    return Identity(server_context(directory / "server.crt", directory / "server.key"), authority)


@pytest.fixture
async def hooks(identity: Identity) -> AsyncIterator[Hooks]:
    async with serving(identity) as hooks:
        yield hooks


@pytest.fixture
async def plane(data: Path) -> AsyncIterator[Plane]:
    async with open_plane(Settings(data=data, port=0, operators=frozenset())) as plane:
        yield plane


@pytest.fixture
def api(plane: Plane) -> Api:
    return Api(plane)

"""The permissions of the operator: enough for all it does, and no others."""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from homeostat.cli.operators.deploy.access import access_documents
from homeostat.operators import sync
from homeostat.plane import Settings, open_plane
from tests.cli.applying import apply
from tests.cli.permissions import Noting, Used, acting_as, granted_by
from tests.cluster.fixtures import Api, create_namespace
from tests.operators.sync.cases import Rest
from tests.operators.sync.operator.stage import operating, ready_of, staged

_ACCOUNT = "sync"


@pytest.fixture
async def plane(started_once: Path, tmp_path: Path) -> AsyncIterator[Api]:
    data = shutil.copytree(started_once, tmp_path / "data")
    async with open_plane(Settings(data=data, port=0, operators=frozenset())) as plane:
        yield Api(plane.client, plane.kubeconfig_path, await create_namespace(plane.client))


async def test_the_operator_does_all_it_can_with_its_rules(plane: Api, rest: Rest, tmp_path: Path) -> None:
    used: Used = set()
    refused: list[str] = []
    async with staged(plane, rest, tmp_path / "stage") as stage:
        given = access_documents({"sync": sync.RULES}, namespace=plane.namespace, account=_ACCOUNT, has_election=False)
        await apply(plane.client, *given)
        async with acting_as(plane, plane.namespace, _ACCOUNT) as account:
            client = account.over(lambda transport: Noting(transport, used, refused))
            async with operating(stage, client):
                stage.origin.commit({"customers/acme/resource.json": '{"id": "acme"}'})
                await stage.declare()
                await stage.secret("hook", secret="secret-of-the-webhook")
                spec = {
                    "repositoryRef": {"name": "declared"},
                    "provider": "gitea",
                    "secretRef": {"name": "hook", "key": "secret"},
                }
                await stage.apply("RepositoryWebhook", "hook", spec)
                await stage.until(lambda status: ready_of(status)[0] == "True", "RepositoryWebhook", "hook")
                await stage.until(lambda status: ready_of(status)[0] == "True")
                revision = await stage.push({}, "customers/acme/resource.json")
                await stage.synced(revision)
    assert refused == []
    unused = {each for each in granted_by(sync.RULES) - used if each[1] not in ("get", "list")}
    # Owner references are checked by an admission plugin that is off here.
    assert {each for each in unused if not each[0].endswith("/finalizers")} <= {("events", "patch")}

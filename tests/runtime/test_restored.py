"""Operators on a plane whose store was restored from a backup: paused until effects are resumed."""

from __future__ import annotations

import asyncio
import shutil
import time
from pathlib import Path

import pytest

from homeostat.plane import Plane, Settings, open_plane
from homeostat.plane.storage import SEALED_RESOURCES
from homeostat.store.backup.backup import back_up, restore, verify
from homeostat.store.backup.places import source_at, target_at
from homeostat.store.seal import Seal
from homeostat.testing.eventually import eventually

OPERATOR = """
from msgspec import Struct
from homeostat import sdk

class Spec(Struct, frozen=True):
    file: str

class Stamp(sdk.Declared, frozen=True):
    spec: Spec

STAMP = sdk.Kind("example.dev", "v1", "stamps", "Stamp", is_namespaced=True)
KINDS = (sdk.CustomKind(STAMP, spec=Spec),)

class Stamper:
    async def observe(self, obj):
        with open(obj.spec.file, "a") as file:
            file.write("observed")

    def decide(self, obj, world):
        return sdk.Decision(conditions=(sdk.Condition(sdk.READY, "True", "Observed"),))

    async def act(self, obj, action):
        return None

def register(setup):
    setup.control(STAMP, Stamp, Stamper())
"""


def settings(data: Path, operator: Path, *, resumes_effects: bool = False) -> Settings:
    operators = frozenset({str(operator)})
    return Settings(data=data, port=0, is_open=True, operators=operators, resumes_effects=resumes_effects)


async def effects(plane: Plane) -> str | None:
    found: str | None = (await plane.client.get("/version"))["homeostat"].get("effects")
    return found


def copy_seal(original: Path, restored: Path) -> Seal:
    restored.mkdir(mode=0o700)
    shutil.copy2(original / "seal.key", restored)
    return Seal(SEALED_RESOURCES, (original / "seal.key").read_bytes())


async def drill(original: Path, restored: Path, file: Path) -> None:
    """Restores a backup of one data directory into another."""
    async with source_at(original / "homeostat.db") as source:
        await back_up(source, file, now=time.time())
    seal = copy_seal(original, restored)
    verified = await verify(file, seal=seal)
    async with target_at(restored / "homeostat.db", seal=seal, now=time.time()) as target:
        await restore(verified, target, now=time.time())


@pytest.fixture
def operator(tmp_path: Path) -> Path:
    path = tmp_path / "stamper.py"
    path.write_text(OPERATOR)
    return path


async def test_operators_of_a_restored_plane_touch_nothing_until_effects_are_resumed(
    tmp_path: Path, operator: Path
) -> None:
    original, restored, touched = tmp_path / "original", tmp_path / "restored", tmp_path / "touched"
    async with open_plane(settings(original, operator)) as plane:
        assert await effects(plane) is None
        spec = {"metadata": {"name": "a"}, "spec": {"file": str(touched)}}
        body = {"apiVersion": "example.dev/v1", "kind": "Stamp", **spec}
        await plane.client.create("/apis/example.dev/v1/namespaces/default/stamps", body)
        await eventually(touched.exists)
    await drill(original, restored, tmp_path / "a.backup")
    await asyncio.to_thread(touched.unlink)
    for _ in range(2):
        async with open_plane(settings(restored, operator)) as plane:
            assert await effects(plane) == "paused"
            manager = await eventually(lambda: plane.supervisors[0].manager)
            assert manager is not None
            await manager.informers.synced()
            for _ in range(20):
                await asyncio.sleep(0.01)
        assert not touched.exists()
    async with open_plane(settings(restored, operator, resumes_effects=True)) as plane:
        assert await effects(plane) is None
        await eventually(touched.exists)
    await asyncio.to_thread(touched.unlink)
    async with open_plane(settings(restored, operator)) as plane:
        assert await effects(plane) is None
        await eventually(touched.exists)

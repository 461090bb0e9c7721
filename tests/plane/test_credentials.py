"""What a plane writes into its data directory when it starts."""

from __future__ import annotations

from pathlib import Path

from homeostat.plane import Settings, open_plane


async def started(settings: Settings) -> int:
    """The port that it got."""
    async with open_plane(settings) as plane:
        return int(plane.url.rpartition(":")[2])


def place_of(path: Path) -> tuple[int, int]:
    found = path.stat()
    return found.st_ino, found.st_mtime_ns


async def test_a_kubeconfig_that_is_right_is_not_written_again(tmp_path: Path) -> None:
    data, kubeconfig = tmp_path / "data", tmp_path / "data" / "kubeconfig"
    port = await started(Settings(data=data, port=0, operators=frozenset()))
    before = place_of(kubeconfig)
    assert await started(Settings(data=data, port=port, operators=frozenset())) == port
    assert place_of(kubeconfig) == before, "a full disk could not take it"
    kubeconfig.write_text("another")
    await started(Settings(data=data, port=port, operators=frozenset()))
    assert f":{port}" in kubeconfig.read_text()

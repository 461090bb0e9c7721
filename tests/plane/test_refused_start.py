"""A start that is refused has changed nothing outside the plane."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from homeostat.plane import FaceChoice, FaceError, Place, Settings, open_plane
from homeostat.testing.eventually import eventually

_OPERATOR = """
from pathlib import Path

KINDS = ()

async def act() -> None:
    Path({marker!r}).touch()

def register(setup) -> None:
    setup.run(act)
    Path({marker!r}).touch()
"""


def has_acted(marker: Path) -> bool:
    return marker.exists()


@pytest.fixture
def marker(tmp_path: Path) -> Path:
    return tmp_path / "acted"


@pytest.fixture
def operator(tmp_path: Path, marker: Path) -> str:
    file = tmp_path / "eager.py"
    file.write_text(_OPERATOR.format(marker=str(marker)))
    return str(file)


async def test_operators_do_not_begin_if_the_port_is_in_use(tmp_path: Path, operator: str, marker: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        settings = Settings(
            data=tmp_path / "data", port=taken.getsockname()[1], is_open=True, operators=frozenset({operator})
        )
        with pytest.raises(OSError, match="in use"):
            async with open_plane(settings):
                pass
    assert not has_acted(marker)


async def test_operators_do_not_begin_if_the_port_of_a_face_is_in_use(
    tmp_path: Path, operator: str, marker: Path
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        faces = FaceChoice(shared=Place(*taken.getsockname()))
        operators = frozenset({operator, "images"})
        settings = Settings(data=tmp_path / "data", port=0, is_open=True, operators=operators, faces=faces)
        with pytest.raises(FaceError):
            async with open_plane(settings):
                pass
    assert not has_acted(marker)


async def test_operators_begin_once_the_plane_serves(tmp_path: Path, operator: str, marker: Path) -> None:
    settings = Settings(data=tmp_path / "data", port=0, is_open=True, operators=frozenset({operator}))
    async with open_plane(settings):
        assert not has_acted(marker)
        await eventually(lambda: has_acted(marker))

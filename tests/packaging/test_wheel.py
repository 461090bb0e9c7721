"""The distribution is called `homeostat-plane`; what it installs is called `homeostat`."""

from __future__ import annotations

import re
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
_TEXTS = (".md", ".py", ".toml", ".yaml", ".yml", ".json", ".txt", ".html", ".js")
_OUTSIDE = frozenset({".venv", ".git", ".cache"})
_installs_other = re.compile(r"""pip install (?:-\S+ )*['"`]*homeostat(?!-plane|\w)""").search


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True, timeout=50)
    (built,) = folder.iterdir()
    return built


def test_a_wheel_of_the_tree_installs_a_working_command(wheel: Path, tmp_path: Path) -> None:
    assert wheel.name.startswith("homeostat_plane-")
    home = tmp_path / "own"
    venv.create(home, symlinks=True)
    uv = Path(sys.executable).with_name("uv")
    into = ["--python", str(home / "bin/python")]
    install = [str(uv), "pip", "install", "-q", "--no-deps", "--offline", *into, str(wheel)]
    subprocess.run(install, check=True, capture_output=True, timeout=50)
    # What it depends on is taken from here. A path file does not read those of the folder that it names, so the
    # editable installation of the tree stays out.
    (site,) = home.glob("lib/python*/site-packages")
    (site / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    command = [str(home / "bin/homeostat"), "crds", "--operators", "actions", "-o", "json"]
    printed = subprocess.run(command, check=True, capture_output=True, text=True, timeout=50, cwd=tmp_path).stdout
    assert "resourcetypes" in printed
    asked = "import homeostat, importlib.metadata as m; print(homeostat.__file__, m.version('homeostat-plane'))"
    shown = subprocess.run(
        [str(home / "bin/python"), "-c", asked], check=True, capture_output=True, text=True, cwd=tmp_path, timeout=50
    ).stdout
    assert shown.startswith(str(site))


def test_no_text_installs_the_distribution_of_somebody_else() -> None:
    found = [
        f"{path.relative_to(ROOT)}:{number}"
        for top in ROOT.iterdir()
        if top.name not in _OUTSIDE
        for path in (top, *top.rglob("*"))
        if path.suffix in _TEXTS or path.name in {"Dockerfile", "Makefile"}
        if path.is_file() and path != Path(__file__)
        for number, line in enumerate(path.read_text(errors="replace").splitlines(), 1)
        if _installs_other(line)
    ]
    assert found == []


@pytest.mark.parametrize(
    ("text", "is_other"),
    [
        ("pip install homeostat", True),
        ("pip install -U 'homeostat[otel]'", True),
        ("pip install homeostat-plane", False),
        ('pip install "homeostat-plane[amqp]"', False),
        ("pip install homeostatic", False),
    ],
)
def test_the_search_tells_the_two_apart(text: str, is_other: bool) -> None:
    assert bool(_installs_other(text)) is is_other


def test_packages_that_depend_on_us_name_the_distribution() -> None:
    for path in (*ROOT.glob("examples/**/pyproject.toml"), ROOT / "docs/plugin-tutorial.md"):
        assert '"homeostat"]' not in path.read_text(), path
        assert '"homeostat-plane"]' in path.read_text(), path

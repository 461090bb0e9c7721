"""The distribution is called `homeostat-plane`; what it installs is called `homeostat`."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import sysconfig
import tarfile
import tomllib
import venv
from dataclasses import dataclass
from pathlib import Path

import pytest

from homeostat import __version__
from tests.archives import unpack

ROOT = Path(__file__).parents[2]
_TEXTS = (".md", ".py", ".toml", ".yaml", ".yml", ".json", ".txt", ".html", ".js")
_OUTSIDE = frozenset({".venv", ".git", ".cache"})
_installs_other = re.compile(r"""pip install (?:-\S+ )*['"`]*homeostat(?!-plane|\w)""").search


def build(target: str, folder: Path, *, source: Path = ROOT) -> Path:
    command = [sys.executable, "-m", "hatchling", "build", "-t", target, "-d", str(folder)]
    subprocess.run(command, cwd=source, check=True, capture_output=True, timeout=50)
    (built,) = folder.iterdir()
    return built


@pytest.fixture(scope="module")
def sdist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build("sdist", tmp_path_factory.mktemp("sdist"))


@pytest.fixture(scope="module")
def wheel(sdist: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built from the source distribution, as an installer without our wheel does."""
    unpacked = tmp_path_factory.mktemp("unpacked")
    with tarfile.open(sdist) as archive:
        unpack(archive, unpacked)
    return build("wheel", tmp_path_factory.mktemp("wheel"), source=unpacked / sdist.name.removesuffix(".tar.gz"))


@dataclass(frozen=True, slots=True)
class Installation:
    """A virtual environment that holds the wheel and nothing of this tree."""

    home: Path
    site: Path

    def run(self, *command: str) -> str:
        program, *arguments = command
        done = subprocess.run(
            [str(self.home / "bin" / program), *arguments],
            check=True,
            capture_output=True,
            text=True,
            timeout=50,
            cwd=self.home,
        )
        return done.stdout


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Installation:
    home = tmp_path_factory.mktemp("installed") / "own"
    venv.create(home, symlinks=True)
    uv = Path(sys.executable).with_name("uv")
    into = ["--python", str(home / "bin/python")]
    install = [str(uv), "pip", "install", "-q", "--no-deps", "--offline", *into, str(wheel)]
    subprocess.run(install, check=True, capture_output=True, timeout=50)
    # What it depends on is taken from here. A path file does not read those of the folder that it names, so the
    # editable installation of the tree stays out.
    (site,) = home.glob("lib/python*/site-packages")
    (site / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return Installation(home, site)


def test_the_distributions_have_the_version_of_the_package(sdist: Path, wheel: Path) -> None:
    assert sdist.name == f"homeostat_plane-{__version__}.tar.gz"
    assert wheel.name == f"homeostat_plane-{__version__}-py3-none-any.whl"


def test_an_sdist_installs_every_file_of_the_package(installed: Installation) -> None:
    tracked = subprocess.run(["git", "ls-files", "homeostat"], cwd=ROOT, capture_output=True, text=True, timeout=30)
    if tracked.returncode != 0:
        pytest.skip("not a checkout of git")
    assert [name for name in tracked.stdout.splitlines() if not (installed.site / name).is_file()] == []


def test_the_installed_command_works(installed: Installation) -> None:
    assert "resourcetypes" in installed.run("homeostat", "crds", "--operators", "actions", "-o", "json")
    assert installed.run("python", "-c", "import homeostat; print(homeostat.__file__)").startswith(str(installed.site))
    shown = json.loads(installed.run("homeostat", "version", "-o", "json"))
    assert (shown["homeostat"], shown["schemas"]) == (__version__, {"postgres": 1, "sqlite": 1})
    assert shown["extras"] == dict.fromkeys(("amqp", "jq", "otel", "postgres"), True)


def test_the_extra_all_has_every_other_extra() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    (everything,) = extras.pop("all")
    assert everything == f"homeostat-plane[{','.join(sorted(extras))}]"


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
def test_the_search_distinguishes_the_two(text: str, is_other: bool) -> None:
    assert bool(_installs_other(text)) is is_other


def test_packages_that_depend_on_us_name_the_distribution() -> None:
    for path in (*ROOT.glob("examples/**/pyproject.toml"), ROOT / "docs/plugin-tutorial.md"):
        assert '"homeostat"]' not in path.read_text(), path
        assert '"homeostat-plane"]' in path.read_text(), path

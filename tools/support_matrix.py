"""Runs parts of the suite with each version of what Homeostat runs on and beside, and writes what passed.

    python -m tools.support_matrix                          # all that this machine has
    python -m tools.support_matrix 'Python 3.13' helm       # those whose title begins so

It finds Pythons on PATH and of pyenv, PostgreSQLs of Debian and of PyPI and the one that HOMEOSTAT_TEST_POSTGRES names,
and what `make cluster`, `make kubectl` and `make programs` built. The table is in docs/upgrading.md. What passed is in
`tests/packaging/matrix.json`, too: a version that this machine lacks keeps its row, and so does one that fails.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from xml.etree import ElementTree

import msgspec

from tests.postgres import find_all_programs, version_of
from tools.build_cluster import KUBERNETES, built_versions
from tools.build_kubectl import find_kubectls
from tools.build_programs import HELM, PROGRAMS
from tools.provision import CACHE, ROOT

RECORD = ROOT / "tests" / "packaging" / "matrix.json"
PAGE = ROOT / "docs" / "upgrading.md"
HEADING = "| what | version | tests of | passed | skipped |\n|---|---|---|---|---|\n"

_OLDEST_PYTHON = (3, 11)
_PURE = ("api", "cel", "edge", "objects", "server")
_SERVED = ("client", "consistency", "packaging/test_releases.py", "plane", "runtime", "store")


class Ran(msgspec.Struct, frozen=True, order=True):
    what: str
    version: str
    tests: tuple[str, ...]
    """Folders and files of `tests`."""
    passed: int
    skipped: int = 0

    @property
    def row(self) -> str:
        folders = ", ".join(f"`{each}`" for each in self.tests)
        return f"| {self.what} | {self.version} | {folders} | {self.passed} | {self.skipped} |\n"


@dataclass(frozen=True, slots=True)
class Lane:
    what: str
    version: str
    tests: tuple[str, ...]
    options: tuple[str, ...] = ()
    environment: dict[str, str] = field(default_factory=dict)
    python: Path = Path(sys.executable)

    @property
    def title(self) -> str:
        return f"{self.what} {self.version}"


def lanes() -> Iterator[Lane]:
    for version, python in sorted(_pythons().items()):
        yield Lane("Python", version, (*_PURE, *_SERVED), ("-m", "not slow and not cluster"), python=python)
    for number, folder in sorted({version_of(each): each for each in find_all_programs()}.items()):
        named = {"HOMEOSTAT_TEST_POSTGRES": str(folder)}
        yield Lane("PostgreSQL", str(number), ("packaging/test_releases.py", "replicas", "store"), environment=named)
    for version in built_versions():
        named = {"HOMEOSTAT_TEST_KUBERNETES": version}
        yield Lane("Kubernetes", version, ("cluster", "packaging/test_chart_live.py"), environment=named)
    for version in find_kubectls():
        yield Lane("kubectl", version, ("kubectl",), ("-k", version))
    if all(each.path.exists() for each in PROGRAMS):
        yield Lane("helm", HELM, ("packaging/test_chart.py", "packaging/test_chart_live.py", "programs/test_helm.py"))
        yield Lane("kube-controller-manager, kube-scheduler", KUBERNETES, ("programs",))


def run(lane: Lane) -> Ran | None:
    """None if a test failed; the output says which."""
    python = _environment(lane) if lane.what == "Python" else lane.python
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.xml"
        options = ["-q", "-n", "1", "--dist", "loadfile", "-p", "no:cacheprovider", "--hypothesis-profile", "fast"]
        command = [str(python), "-m", "pytest", *options, f"--junitxml={report}", *lane.options]
        command += [f"tests/{each}" for each in lane.tests]
        done = subprocess.run(command, cwd=ROOT, check=False, env={**os.environ, **lane.environment})
        if done.returncode != 0:
            return None
        (suite,) = ElementTree.parse(report).getroot()
    skipped = int(suite.attrib["skipped"])
    return Ran(lane.what, lane.version, lane.tests, int(suite.attrib["tests"]) - skipped, skipped)


def read_record() -> list[Ran]:
    return msgspec.json.decode(RECORD.read_bytes(), type=list[Ran]) if RECORD.exists() else []


def keep(ran: Ran) -> None:
    others = [each for each in read_record() if (each.what, each.version) != (ran.what, ran.version)]
    record = sorted([*others, ran])
    RECORD.write_bytes(msgspec.json.format(msgspec.json.encode(record)) + b"\n")
    PAGE.write_text(re.sub(re.escape(HEADING) + r"(\|.*\n)*", lambda _: table(record), PAGE.read_text()))


def table(record: Sequence[Ran]) -> str:
    return HEADING + "".join(each.row for each in record)


def _environment(lane: Lane) -> Path:
    """The Python of a virtual environment with what the tests need."""
    place = CACHE / "matrix" / lane.version
    python = place / "bin" / "python"
    if not python.exists():
        uv = [str(Path(sys.executable).with_name("uv"))]
        here = {**os.environ, "VIRTUAL_ENV": str(place)}
        needed = ["--require-hashes", "-r", "requirements/dev.txt"]
        subprocess.run([*uv, "venv", "-q", "--python", str(lane.python), str(place)], check=True, cwd=ROOT)
        for each in (needed, ["--no-deps", "-e", "."]):
            subprocess.run([*uv, "pip", "install", "-q", *each], check=True, cwd=ROOT, env=here)
    return python


def _pythons() -> dict[str, Path]:
    """By version; the first of a version is taken."""
    found: dict[str, Path] = {}
    for program in _interpreters():
        command = [str(program), "-c", "import platform; print(platform.python_version())"]
        told = subprocess.run(command, check=False, capture_output=True, text=True, timeout=30).stdout.strip()
        if told.replace(".", "").isdigit() and tuple(map(int, told.split(".")))[:2] >= _OLDEST_PYTHON:
            found.setdefault(told, program)
    return found


def _interpreters() -> Iterator[Path]:
    yield from (Path.home() / ".pyenv" / "versions").glob("*/bin/python3")
    for minor in range(_OLDEST_PYTHON[1], 100):
        if (program := shutil.which(f"python3.{minor}")) is not None:
            yield Path(program)


def main(titles: Sequence[str]) -> int:
    failed = []
    for lane in lanes():
        if titles and not any(lane.title.startswith(each) for each in titles):
            continue
        print(f"{lane.title} ...", flush=True)
        ran = run(lane)
        if ran is None:
            failed.append(lane.title)
        else:
            keep(ran)
    if failed:
        print(f"error: failed with {', '.join(failed)}; the output above says which tests", file=sys.stderr)
    return len(failed) > 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

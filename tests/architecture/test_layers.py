"""The import contracts hold, and would be noticed if they did not."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    ("module", "line"),
    [
        ("operators/__init__.py", "import homeostat.server.app"),
        ("client/__init__.py", "import homeostat.store.base"),
        ("server/__init__.py", "import homeostat.client.base"),
        ("objects/__init__.py", "import asyncio"),
        ("cel/__init__.py", "import homeostat.objects.json"),
        ("edge/__init__.py", "import homeostat.objects.json"),
        ("cel/compile/logic.py", "import homeostat.cel.compile.compiler"),
    ],
)
def test_a_broken_contract_fails_the_check(tmp_path: Path, module: str, line: str) -> None:
    shutil.copytree(ROOT / "homeostat", tmp_path / "homeostat", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    with (tmp_path / "homeostat" / module).open("a") as source:
        source.write(f"\n{line}\n")
    linter = Path(sys.executable).with_name("lint-imports")
    done = subprocess.run([linter, "--no-cache"], cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert done.returncode == 1, done.stdout
    assert "BROKEN" in done.stdout

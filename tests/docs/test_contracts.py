"""The session of docs/contracts.md prints what it shows, with a real registry, and its limits are those of the code."""

from __future__ import annotations

import re
import subprocess
from itertools import pairwise
from pathlib import Path

from homeostat.operators.contracts.engine import files
from homeostat.operators.contracts.engine.document.parse import MAX_CONTRACT_BYTES
from homeostat.operators.contracts.engine.graph.graph import MAX_EDGES
from homeostat.operators.contracts.engine.policy import MAX_POLICIES
from homeostat.operators.contracts.sources.cache import LIMIT_BYTES
from homeostat.operators.contracts.sources.registry import LIMITS
from tests.cli.running import HOMEOSTAT, make_cli
from tests.docs.documents import table_rows, text_of
from tests.external.registries import running_registry

_PAGE = text_of("docs/contracts.md")
_REGISTRY = "registry.example.org"
_fences = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL).findall
_UNITS = {"": 1, "MiB": 1 << 20}


def test_the_session_prints_what_it_shows(tmp_path: Path) -> None:
    cli = make_cli(tmp_path / "data", tmp_path / "bytecode")
    environment = {**cli.environment, "PATH": f"{Path(HOMEOSTAT).parent}:{cli.environment['PATH']}"}
    session = _PAGE.partition("## Credentials")[0]
    shown = 0
    with running_registry(tmp_path / "registry") as host:
        for (language, code), (following, printed) in pairwise([*_fences(session), ("", "")]):
            if language != "sh":
                continue
            command = ["bash", "-e", "-c", code.replace(_REGISTRY, host)]
            done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=50)
            assert done.returncode == 0, (code, done.stderr)
            if following == "text":
                shown += 1
                assert done.stdout.endswith(printed.replace(_REGISTRY, host)), code
    assert shown == 6


def test_the_limits_are_those_of_the_code() -> None:
    found = [_number(value) for _, value in table_rows(_PAGE, "| limit | value |")]
    assert found == [
        files.MAX_FILE_BYTES,
        files.MAX_TOTAL_BYTES,
        files.MAX_ENTRIES,
        MAX_CONTRACT_BYTES,
        LIMITS.tags,
        MAX_POLICIES,
        MAX_EDGES,
        LIMIT_BYTES,
    ]


def _number(value: str) -> int:
    number, _, unit = value.partition(" ")
    return int(number.replace(",", "")) * _UNITS[unit]

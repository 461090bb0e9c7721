"""The session of docs/images.md prints what it shows, and the annotations of its tables are those of the code."""

from __future__ import annotations

import inspect
import re
import subprocess
from itertools import pairwise
from pathlib import Path

from homeostat.operators.images.engine import annotations as settings
from homeostat.operators.images.engine import rules
from homeostat.operators.images.reporting.notifications import FORMAT
from tests.cli.running import make_cli, running
from tests.docs.documents import table_rows, text_of
from tests.processes import path_for_shells

_PAGE = text_of("docs/images.md")
_fences = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL).findall
_OPTIONS = ("--open", "--operators", "images", "--images-port", "0", "--images-interval", "0", "--images-allow-file")


def test_the_session_prints_what_it_shows(tmp_path: Path) -> None:
    session, shown = _PAGE.partition("## When it runs")[0], 0
    cli = make_cli(tmp_path / "data")
    environment = {**cli.environment, "PATH": path_for_shells()}
    with running(cli, *_OPTIONS):
        for (language, code), (following, printed) in pairwise([*_fences(session), ("", "")]):
            if language != "sh" or code.startswith("homeostat up "):
                continue
            command = ["bash", "-e", "-c", code]
            done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=60)
            assert done.returncode == 0, (code, done.stderr)
            if following == "text":
                shown += 1
                assert _plain(done.stdout).endswith(_plain(printed)), (code, done.stdout)
    assert shown == 9


def _plain(text: str) -> str:
    """Without ids of commits, whole or short, ages and widths of columns."""
    return re.sub(
        r" +", " ", re.sub(r"\b\d+s\b", "1s", re.sub(r"\b(?:[0-9a-f]{40}|[0-9a-f]{10})\b", "SHA", text))
    ).rstrip()


def test_every_annotation_of_the_code_is_in_a_table() -> None:
    rows = [*table_rows(_PAGE, "| annotation | default | meaning |"), *table_rows(_PAGE, "| annotation | meaning |")]
    told = {name for row in rows for name in re.findall(r"\w+", row[0])}
    source = inspect.getsource(settings) + inspect.getsource(rules)
    used = {name for name in re.findall(r'given(?:\[|\.get\(|\()"(\w+)"', source) if not name.endswith("_namespace")}
    assert used | {FORMAT.rpartition(".")[2]} <= told

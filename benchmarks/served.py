"""A plane of its own for a benchmark: `homeostat up` in a process and a directory that end with it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from benchmarks.target import Target
from benchmarks.usage import Processes
from homeostat.server.access.tokens.file import Tokens

_STOP_WITHIN_S = 30.0
_BYTECODE = Path(__file__).parent.parent / ".cache" / "bytecode"


@dataclass(frozen=True, slots=True)
class Served:
    data: Path
    target: Target
    pid: int
    start_s: float
    """From the start of the process until it says that it serves, which it says when it is ready."""

    @property
    def processes(self) -> Processes:
        return Processes([self.pid])


@contextmanager
def scratch() -> Iterator[Path]:
    """A data directory that is gone afterwards."""
    folder = Path(tempfile.mkdtemp(prefix="homeostat-bench-"))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def serve(
    data: Path,
    *arguments: str,
    python: str = sys.executable,
    folder: Path | None = None,
    under: Sequence[str] = (),
    turns: Path | None = None,
    log: Path | None = None,
) -> Iterator[Served]:
    """A plane on that directory: TLS, fsync on, a port of its own, and a token for the callers. `python` and `folder`
    are those of another checkout, if it is to run; `under` is a command that runs the program, as valgrind does.
    Long turns of its event loop are written to `turns`, and its log to `log` instead of standard error.
    """
    token = Tokens(data / "tokens.json").create("bench", now=time.time(), groups=["system:masters"])
    program = [str(Path(python).with_name("homeostat"))]
    if turns is not None:
        program = ["-m", "benchmarks.soak.turns", str(turns)]
    began = time.perf_counter()
    with ExitStack() as opened:
        process = subprocess.Popen(
            [*under, python, *program, "up", "--data", str(data), "--port", "0", *arguments],
            stdout=subprocess.PIPE,
            stderr=None if log is None else opened.enter_context(log.open("wb")),
            text=True,
            env=compiled_environment(),
            cwd=folder,
        )
    assert process.stdout is not None
    try:
        line = process.stdout.readline()
        start_s = time.perf_counter() - began
        if not line:
            said = "what it says is above" if log is None else log.read_text()
            raise RuntimeError(f"the plane did not start; {said}")
        yield Served(data, Target.of(line.split()[-1], token), process.pid, start_s)
    finally:
        stop(process)
        process.stdout.close()


def compiled_environment() -> dict[str, str]:
    """As an installed program starts: with its modules compiled, even where this process may not keep such files."""
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return {**kept, "PYTHONPYCACHEPREFIX": str(_BYTECODE)}


def stop(process: subprocess.Popen[str] | subprocess.Popen[bytes]) -> None:
    """Ends it, by force if it does not end in time."""
    process.terminate()
    try:
        process.wait(_STOP_WITHIN_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()

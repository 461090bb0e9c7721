"""`homeostat contract validate` from the shell: one small bundle, and many bundles in one call."""

from __future__ import annotations

import resource
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import NamedTuple

from benchmarks.report import console, machine
from benchmarks.served import compiled_environment
from homeostat.operators.contracts.engine.scaffold import new_bundle

_PROGRAM = "import sys; from homeostat.cli.main import main; sys.exit(main())"
_WITHIN_S = 120.0


class Run(NamedTuple):
    seconds: float
    cpu_s: float


def show_bundles(bundles: int, starts: int) -> None:
    screen = console()
    screen.print(machine())
    with TemporaryDirectory() as folder:
        names = _write(Path(folder), bundles)
        _run(Path(folder), ["validate", names[0]])
        one = [_run(Path(folder), ["validate", names[0]]) for _ in range(starts)]
        many = min(_run(Path(folder), ["validate", *names]) for _ in range(3))
    seconds, cpu_s = (median(each) for each in zip(*one, strict=True))
    screen.print(f"validate one bundle: {seconds:.3f} s, {cpu_s:.3f} s of CPU (median of {starts}; wanted < 0.25 s)")
    screen.print(f"validate {bundles:,} bundles in one call: {many.seconds:.2f} s, {many.cpu_s:.2f} s of CPU")


def _write(folder: Path, bundles: int) -> list[str]:
    names = [f"service-{number}" for number in range(bundles)]
    for name in names:
        for path, data in new_bundle(name).items():
            file = folder / name / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(data)
    return names


def _run(folder: Path, arguments: Sequence[str]) -> Run:
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), perf_counter()
    subprocess.run(
        [sys.executable, "-c", _PROGRAM, "contract", *arguments],
        cwd=folder,
        env=compiled_environment(),
        capture_output=True,
        check=True,
        timeout=_WITHIN_S,
    )
    seconds, after = perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    return Run(seconds, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)

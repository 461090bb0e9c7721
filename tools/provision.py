"""What the tools that fetch or build programs for the tests share: where they put them, and how they report."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parent.parent
CACHE: Final = ROOT / ".cache"
UNAVAILABLE: Final = 69
"""EX_UNAVAILABLE of sysexits.h."""

_FETCH_WITHIN_S = 600.0


class UnavailableError(Exception):
    """What is missing on this machine, for people."""


class MissingProgramError(Exception):
    """Neither on PATH nor fetched nor built; the text names the command that brings it."""


def fetch_with(command: list[str], *, folder: Path, source: str, environment: Mapping[str, str] | None = None) -> str:
    """Its output; `UnavailableError` if it fails, for it needs `source` and that is out of reach."""
    try:
        done = subprocess.run(
            command,
            cwd=folder,
            check=True,
            capture_output=True,
            text=True,
            timeout=_FETCH_WITHIN_S,
            env=None if environment is None else {**environment},
        )
    except subprocess.TimeoutExpired as error:
        raise UnavailableError(f"{source}: timed out after {_FETCH_WITHIN_S:g} s") from error
    except subprocess.CalledProcessError as error:
        printed = f"{error.stdout}{error.stderr}".strip()[-1000:]
        raise UnavailableError(f"{source} is out of reach:\n{printed}") from error
    return done.stdout


def provide(bring: Callable[[], Path]) -> None:
    """What a tool does as a command: prints the path, or exits with `UNAVAILABLE` and the reason."""
    try:
        print(bring())
    except UnavailableError as error:
        print(f"error: {error}", file=sys.stderr)
        print("the tests that need it are skipped", file=sys.stderr)
        sys.exit(UNAVAILABLE)

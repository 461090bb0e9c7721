"""Runs the few tests that failed in a full run again, alone: a test that then passes twice is unstable, not broken.

    python -m tools.rerun_failed EXIT_CODE_OF_PYTEST

Two tests at once on a busy machine can disturb each other in ways that no user sees. An unstable test is named at the
end of the output, below the failure itself, and has to be looked into. Several failures at once are not rerun.
The full run begins with an empty cache (`--cache-clear`), so failures of earlier runs do not count.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Final

_MOST: Final = 3
_TIMES: Final = 2
_SOME_FAILED: Final = 1
_FAILED: Final = Path(".pytest_cache/v/cache/lastfailed")


def main(code: int) -> int:
    failed = list(json.loads(_FAILED.read_text())) if _FAILED.exists() else []
    if code != _SOME_FAILED or not 0 < len(failed) <= _MOST:
        return code
    for _ in range(_TIMES):
        words = ("-q", "-p", "no:xdist", "-p", "no:cacheprovider", *failed)
        if subprocess.run((sys.executable, "-m", "pytest", *words), check=False).returncode:
            return code
    for each in failed:
        print(f"unstable: {each} failed beside other tests and passed {_TIMES} times alone; find out why")
    return 0


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1])))

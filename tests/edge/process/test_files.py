from __future__ import annotations

import subprocess
import sys

import pytest

_PROGRAM = """
import resource
from homeostat.edge.process.files import file_limit, raise_file_limit
resource.setrlimit(resource.RLIMIT_NOFILE, (256, {hard}))
raise_file_limit()
print(file_limit())
"""


@pytest.mark.parametrize(("hard", "raised"), [(1000, 1000), (256, 256)])
def test_a_process_takes_as_many_files_as_it_may_open(hard: int, raised: int) -> None:
    program = [sys.executable, "-c", _PROGRAM.format(hard=hard)]
    assert int(subprocess.run(program, capture_output=True, check=True, timeout=60).stdout) == raised

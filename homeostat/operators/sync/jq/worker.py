"""A process that runs jq programs for another one: one JSON request a line in, one answer a line out.

It has no environment, opens no files, and has little memory and little time, so that a hostile program can harm nobody
but itself: jq reads data and modules of any path, `import "/home/user/.docker/config" as $it; $it`. It imports nothing
of this project and is started by its path.
"""

from __future__ import annotations

import json
import resource
import sys

import jq

_MEMORY = 1 << 30
_CPU_S = 120
_NO_MORE_FILES = 3
"""Standard input, output and error; a file that is opened would be the next one."""


def main() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    resource.setrlimit(resource.RLIMIT_CPU, (_CPU_S, _CPU_S))
    resource.setrlimit(resource.RLIMIT_NOFILE, (_NO_MORE_FILES, _NO_MORE_FILES))
    for line in sys.stdin.buffer:
        sys.stdout.buffer.write(json.dumps(_answer(json.loads(line))).encode() + b"\n")
        sys.stdout.buffer.flush()


def _answer(request: dict[str, object]) -> dict[str, object]:
    """`invalid` is an error of the compiler, which sees no values; `error` may quote them."""
    values = request["values"]
    assert isinstance(values, list)
    try:
        program = jq.compile(str(request["program"]), args={"__resources": request["resources"]})
    except ValueError as error:
        return {"invalid": str(error)[:500]}
    try:
        return {"results": [program.input_text(json.dumps(each)).all() for each in values]}
    except (ValueError, StopIteration) as error:
        return {"error": str(error)[:500]}
    except MemoryError:
        return {"error": "out of memory"}


if __name__ == "__main__":
    main()

"""Runs jq programs in a worker process: started at the first program, ended when a program takes too long.

Many values go to the worker in one request, so that a comparison of a whole collection costs one exchange.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from homeostat.edge.process.extras import install_command
from homeostat.objects.json import Json
from homeostat.objects.json.pieces import decode_pieces, is_dense
from homeostat.operators.sync.engine.errors import SyncError, ValidationError
from homeostat.operators.sync.engine.metadata.step import RESOURCE_FUNCTION
from homeostat.operators.sync.jq import message
from homeostat.operators.sync.offload import computed

TIMEOUT_S: Final = 20.0
MAX_ANSWER: Final = 64 << 20
"""Bytes that one request to the worker may answer."""


class JqPrograms:
    """`close` it, or use it as a context."""

    def __init__(self) -> None:
        self._process: asyncio.subprocess.Process | None = None
        self._lock = asyncio.Lock()

    async def __aenter__(self) -> JqPrograms:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        process, self._process = self._process, None
        if process is not None and process.returncode is None:
            process.kill()
            await process.wait()

    async def run(
        self, program: str, values: Sequence[Json], resources: Mapping[str, Json] | None = None
    ) -> list[list[Json]]:
        """The outputs for each value; `ValidationError` if the program is invalid or fails."""
        full = f"{RESOURCE_FUNCTION} {program}"
        request = {"program": full, "values": values, "resources": resources or {}}
        line = await computed(lambda: json.dumps(request).encode() + b"\n", values, request["resources"])
        async with self._lock:
            answer = await self._exchange(line)
        if "invalid" in answer:
            raise ValidationError(f'jq "{program[:200]}" failed: {message.of_compiler(answer["invalid"])}')
        if "error" in answer:
            raise ValidationError(f'jq "{program[:200]}" failed: {message.of_run(answer["error"], full)}')
        results: list[list[Json]] = answer["results"]
        return results

    async def _exchange(self, line: bytes) -> Json:
        process = await self._started()
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            async with asyncio.timeout(TIMEOUT_S):
                process.stdin.write(line)
                await process.stdin.drain()
                found = await process.stdout.readline()
        except TimeoutError:
            await self.close()
            raise ValidationError(f"a jq program took longer than {TIMEOUT_S:g} s") from None
        except (ValueError, OSError) as error:
            await self.close()
            raise ValidationError(f"a jq program failed or answered more than {MAX_ANSWER} bytes") from error
        if not found:
            await self.close()
            raise ValidationError("a jq program ended its worker: it needs too much memory or time")
        return await computed(lambda: decode_pieces(found) if is_dense(found) else json.loads(found), found)

    async def _started(self) -> asyncio.subprocess.Process:
        if self._process is None or self._process.returncode is not None:
            if find_spec("jq") is None:
                raise SyncError(f"metadata uses jq, which is not installed; run: {install_command('jq')}")
            self._process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-I", str(Path(__file__).with_name("worker.py"))),
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.DEVNULL,
                env={"PATH": "/usr/bin:/bin"},
                limit=MAX_ANSWER,
            )
        return self._process

"""Plain reads by wrk, where it is installed: a generator that costs little enough to find the server's own limit."""

from __future__ import annotations

import asyncio
import re
import resource
import shutil

from benchmarks.bench import Bench
from benchmarks.load import UnexpectedAnswerError
from benchmarks.measurement import Measurement
from benchmarks.usage import Usage
from benchmarks.widgets import path

_UNITS_MS = {"us": 1e-3, "ms": 1.0, "s": 1e3, "m": 6e4}
_SHARE = re.compile(r"^\s*(50|99)%\s+([0-9.]+)(us|ms|s|m)\s*$", re.MULTILINE)
_COUNT = re.compile(r"(\d+) requests in ([0-9.]+)(us|ms|s|m)\b")
_BAD = re.compile(r"Non-2xx or 3xx responses: (\d+)")


def is_installed() -> bool:
    return shutil.which("wrk") is not None


async def get_by_wrk(bench: Bench, seconds: int = 5) -> Measurement:
    """One object read over and over by as many callers as the other phases have."""
    callers = ["-t1", f"-c{bench.scale.callers}", f"-d{seconds}s", "--latency"]
    header = f"Authorization: Bearer {bench.target.token}"
    before, children = bench.processes.usage(), _children_seconds()
    process = await asyncio.create_subprocess_exec(
        "wrk", *callers, "-H", header, f"{bench.target.url}{path(0)}", stdout=asyncio.subprocess.PIPE
    )
    output = (await process.communicate())[0].decode()
    used = bench.processes.usage() - before
    return _measurement(bench, output, used._replace(own=used.own + _children_seconds() - children))


def _measurement(bench: Bench, output: str, used: Usage) -> Measurement:
    found, bad = _COUNT.search(output), _BAD.search(output)
    if found is None or bad is not None:
        raise UnexpectedAnswerError(f"wrk: {output}")
    count = int(found[1])
    shares_ms = {share: float(value) * _UNITS_MS[unit] for share, value, unit in _SHARE.findall(output)}
    return Measurement(
        phase="get by wrk",
        count=count,
        seconds=float(found[2]) * _UNITS_MS[found[3]] / 1e3,
        p50_ms=shares_ms["50"],
        p99_ms=shares_ms["99"],
        cpu_ms=used.server / count * 1e3,
        own_ms=used.own / count * 1e3,
        other=used.other,
        rss_mib=bench.processes.rss_mib(),
    )


def _children_seconds() -> float:
    """CPU of children that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime

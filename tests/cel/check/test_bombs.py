"""Short expressions that would make, or walk through, far more than they cost: each is stopped in little time.

An evaluation within `QUICK` may run on an event loop, where nobody else is served meanwhile.
"""

from __future__ import annotations

import gc
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any

import pytest

from homeostat.cel import (
    BYTES,
    DOUBLE,
    DYN,
    STRING,
    TIMESTAMP,
    Budget,
    CelError,
    Environment,
    EvaluationError,
    ListType,
    MapType,
    ObjectType,
    Program,
)
from homeostat.cel.check.cost import CALL_LIMIT

QUICK = 50_000
TRIES = 5
MEGABYTE = 1_000_000
ENVIRONMENT = Environment(
    {
        "x": DYN,
        "a": STRING,
        "b": STRING,
        "doubles": ListType(DOUBLE),
        "set": ListType(STRING, list_type="set"),
        "bytes": ObjectType("B", {"data": BYTES}),
        "moments": ListType(TIMESTAMP),
        "map": MapType(STRING, STRING),
    }
)
BINDINGS: dict[str, Any] = {
    "x": "x" * MEGABYTE,
    "a": "x" * MEGABYTE,
    "b": "x" * (MEGABYTE - 1) + "y",
    "doubles": list(range(100_000)),
    "set": [f"item-{each}" for each in range(30_000)],
    "bytes": {"data": "AAAA" * 200_000},
    "moments": ["2026-01-01T00:00:00Z"] * 20_000,
    "map": {f"k{each}": "x" * 10_000 for each in range(100)},
}


def doubled(first: str, step: str, times: int, body: str) -> str:
    """`first`, then `times` steps in which `_` is what was before, then `body`."""
    text = "".join(f"cel.bind(v{at + 1}, {step.replace('_', f'v{at}')}, " for at in range(times))
    return f"cel.bind(v0, {first}, {text}{body.replace('_', f'v{times}')}{')' * (times + 1)}"


LEAVES = doubled("[1]", "[_, _]", 30, "_")
"""A list with two to the thirtieth leaves, which takes up as much memory as thirty lists."""
BOMBS = {
    "equality of nested lists": f"{LEAVES} == {LEAVES}",
    "equality of nested lists of unknown types": f"dyn({LEAVES}) == dyn({LEAVES})",
    "membership of nested lists": f"{LEAVES} in [{LEAVES}]",
    "flattened lists": doubled("dyn([1])", "dyn([_, _])", 30, "[_].flatten(40).size() > 0"),
    "formatted lists": f"'%s'.format([{LEAVES}]).size() > 0",
    "formatted texts": "lists.range(1000).map(i, '%s').join().format(lists.range(1000).map(i, a)).size() > 0",
    "doubled texts": doubled("a", "_ + _", 20, "_.size() > 0"),
    "doubled lists": doubled("[1, 2]", "_ + _", 40, "_.size() > 0"),
    "search from the end": "lists.range(4).all(i, (a + a).lastIndexOf('y' + a.substring(0, 500000)) < 0)",
    "comparison of long texts": "lists.range(3000).all(i, a != b)",
    "comparison of long texts of unknown types": "lists.range(3000).all(i, x != b)",
    "order of long texts": "lists.range(3000).all(i, a < b)",
    "prefix of long texts": "lists.range(3000).all(i, a.startsWith(b) || true)",
    "membership of long texts": doubled("[a]", "_ + _", 15, "!(b in _)"),
    "sets of long texts": doubled("[a]", "_ + _", 13, "!sets.contains(_, [b])"),
    "index of long texts": doubled("[a]", "_ + _", 14, "_.indexOf(b) < 0"),
    "sorted long texts": doubled("[a, b]", "_ + _", 13, "_.sort().size() > 0"),
    "least of long texts": doubled("[a, b]", "_ + _", 14, "_.min() == a"),
    "distinct long texts": doubled("[a, a + '']", "_ + _", 14, "_.distinct().size() == 1"),
    "distinct numbers": "lists.range(12000).distinct().size() > 0",
    "numbers from long texts": "lists.range(3000).exists(i, int(a) == 1)",
    "doubles from long texts": "lists.range(3000).exists(i, double(a) == 1.0)",
    "bools from long texts": "lists.range(3000).exists(i, bool(a))",
    "addresses from long texts": "lists.range(3000).exists(i, ip(a).family() == 4)",
    "missing long keys": "lists.range(3000).exists(i, map[a] == '')",
    "queries of a URL": "cel.bind(u, url('http://a/?' + a.substring(0, 60000)), "
    "lists.range(3000).all(i, u.getQuery().size() > 0))",
    "paths of a URL": "cel.bind(u, url('http://a/' + a.substring(0, 60000)), "
    "lists.range(3000).all(i, u.getEscapedPath() != ''))",
    "converted lists": "doubles.exists(d, doubles[0] == d + 1.0)",
    "converted moments": "lists.range(3000).all(i, moments.size() > 0)",
    "converted bytes": "lists.range(3000).all(i, bytes.data.size() > 0)",
    "sets": "lists.range(1000).all(i, set == set.map(s, s))",
    "united sets": "lists.range(1000).all(i, (set + set).size() > 0)",
    "made patterns": "lists.range(3000).all(i, !'a'.matches('x{1,900}' + string(i)))",
    "long patterns": "'a'.matches(a) || true",
    "unknown time zones": "cel.bind(t, timestamp('2026-01-01T00:00:00Z'), "
    "lists.range(3000).exists(i, t.getHours('X' + string(i)) > 1))",
    "absorbed errors": "lists.range(3000).all(i, 1 / 0 == 1 || 1 / 0 == 2 || 1 / 0 == 3) || true",
    "keys that are bools": "cel.bind(m, dyn(lists.range(1000).transformMap(i, v, v)), "
    "lists.range(3000).all(i, !(dyn(true) in m)))",
    "characters": doubled("'\u20ac' + a.substring(0, 100000)", "_ + _", 2, "_.split('').size() > 0"),
    "letters": doubled("'\u20ac' + a", "_ + _", 2, "_.upperAscii() != ''"),
}


def takes_at_most(text: str, limit: int, seconds: float) -> bool:
    """Of CPU time. A busy machine takes more of it for the same steps, so one of several evaluations has to do.

    In a thread, whose stack is empty: what a call takes depends on how full the caller's is.
    """
    program = ENVIRONMENT.compile(text)
    with ThreadPoolExecutor(1) as thread:
        return any(thread.submit(spent, program, limit).result() < seconds for _ in range(TRIES))


def spent(program: Program, limit: int) -> float:
    """The CPU time of an evaluation, in seconds."""
    gc.disable()  # its time depends on what other tests left behind
    began = time.thread_time()
    try:
        with suppress(CelError):
            program.evaluate(BINDINGS, Budget(limit))
        return time.thread_time() - began
    finally:
        gc.enable()


@pytest.mark.parametrize("name", BOMBS)
def test_a_bomb_is_stopped_before_others_notice(name: str) -> None:
    assert takes_at_most(BOMBS[name], QUICK, 0.1)
    assert takes_at_most(BOMBS[name], CALL_LIMIT, 2)


def test_an_error_shows_the_beginning_of_a_long_text() -> None:
    with pytest.raises(EvaluationError) as failed:
        ENVIRONMENT.compile("int(a) == 1").evaluate(BINDINGS)
    assert len(str(failed.value)) < 1000

from __future__ import annotations

import threading
import time

import pytest

from homeostat.objects.json import decode
from homeostat.server.request.body import duplicate_keys


@pytest.mark.parametrize("filler", ["", "x" * 300_000], ids=["small", "large"])
@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('{"a": 1, "b": {"a": 2}}', []),
        ('{"a": 1, "a": 2}', ["a"]),
        ('{"a" : 1, "b" : [{"c": 1, "\\u0063": 2}]}', ["b[0].c"]),
        ('{"a": "\\u003a\\u003A", "b": ":", "b": 2}', ["b"]),
    ],
    ids=["none", "one", "escaped", "colons"],
)
def test_repeated_keys_are_found_in_bodies_of_any_size(filler: str, text: str, found: list[str]) -> None:
    body = text.replace("{", f'{{"filler": "{filler}", ', 1).encode()
    assert duplicate_keys(body, decode(body)) == found


@pytest.mark.slow
def test_the_search_for_repeated_keys_lets_other_threads_run() -> None:
    """In C it takes some 100 ms in one step, so that this thread would get some ten turns."""
    body = b'{%b"a":1}' % (b'"a":1,' * 480_000)
    value = decode(body)
    worker = threading.Thread(target=duplicate_keys, args=(body, value))
    worker.start()
    turns = 0
    while worker.is_alive():
        time.sleep(0.001)
        turns += 1
    assert turns > 40


def test_escapes_other_than_a_colon_do_not_make_a_body_be_read_again() -> None:
    """Encoders that make JSON safe for HTML write `<` and `>` as escapes. Reading this body would find `a` twice."""
    assert duplicate_keys(rb'{"a": "\u003cb\u003e", "a": 1}', {"a": 1, "b": 2}) == []


def test_paths_of_deep_repeated_keys_stay_short() -> None:
    key = "k" * 400
    body = (f'{{"{key}":' * 150 + "{" + ",".join(['"a":1'] * 100) + "}" + "}" * 150).encode()
    found = duplicate_keys(body, decode(body))
    assert len(found) == 99
    assert all(len(path) < 1_000 for path in found)

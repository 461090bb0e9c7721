"""Hostile PEM in Secrets."""

from __future__ import annotations

import time
from base64 import b64encode

from homeostat.server.kinds.builtins.key_pair import key_pair_fault


def fault_of(certificate: bytes, key: bytes) -> str:
    data = {"tls.crt": b64encode(certificate).decode(), "tls.key": b64encode(key).decode()}
    return key_pair_fault({"data": data})


def test_many_beginnings_and_ends_are_read_in_one_pass() -> None:
    began = time.thread_time()
    for end in (b"", b"-----END Z-----"):
        assert fault_of(b"-----BEGIN A-----" * 3500 + end, b"").startswith("tls: failed to find any PEM data")
    assert time.thread_time() - began < 0.2


def test_a_large_pair_is_not_examined() -> None:
    assert fault_of(b"x" * 70_000, b"") == ""


def test_values_that_are_not_base64_are_the_concern_of_others() -> None:
    assert key_pair_fault({"data": {"tls.crt": "!", "tls.key": 5}}) == ""

"""Bad requests of the largest size allowed, one after another: memory goes up to a bound and stays there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.api.conftest import APPLY, JSON_PATCH, MERGE_PATCH
from tests.api.objects import CONFIGMAPS
from tests.fuzz.kinds import WEBHOOKS
from tests.served import ServedPlane, serve_plane

LARGEST = 3 * 2**20
ROUNDS = 12


def filled(start: bytes, piece: bytes, end: bytes = b"") -> bytes:
    """As many pieces as fit into the largest body."""
    return start + piece * ((LARGEST - len(start) - len(end)) // len(piece)) + end


BAD: list[tuple[str, str, str, bytes]] = [
    ("POST", CONFIGMAPS, "", filled(b"", b"[")),
    ("POST", CONFIGMAPS, "", filled(b'{"a":"', b"x")),
    ("POST", CONFIGMAPS, "", filled(b'{"metadata":{"name":"a"},"data":{"a":"', b"x", b'"}}')),
    ("PUT", f"{CONFIGMAPS}/nobody", "", filled(b"[", b"1,", b"1]")),
    ("PATCH", f"{CONFIGMAPS}/kube-root-ca.crt", JSON_PATCH, filled(b"[", b'{"op":"test","path":""},', b"{}]")),
    ("PATCH", f"{CONFIGMAPS}/kube-root-ca.crt", MERGE_PATCH, filled(b'{"data":["', b"\\u0000", b'"]}')),
    ("PATCH", f"{CONFIGMAPS}/a?fieldManager=a", APPLY, filled(b"a: &a [" + b"x," * 1000 + b"]\nb: [", b"*a,", b"]")),
    ("POST", WEBHOOKS, "application/vnd.kubernetes.protobuf", filled(b"k8s\0", b"\xff")),
]


def memory_bytes(plane: ServedPlane, field: str) -> int:
    status = Path(f"/proc/{plane.process.pid}/status").read_text()
    found = re.search(rf"{field}:\s+(\d+) kB", status)
    assert found
    return int(found[1]) * 1024


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="memory is read from /proc")
def test_bad_requests_of_the_largest_size_leave_no_memory_behind(tmp_path: Path) -> None:
    with serve_plane(tmp_path / "plane") as plane:
        connection = plane.connect()

        def send_all() -> None:
            for method, path, media, body in BAD:
                connection.request(method, path, body, {"Content-Type": media or "application/json"})
                answer = connection.getresponse()
                answer.read()
                assert 400 <= answer.status < 500, (method, path, media, answer.status)

        send_all()
        warm = memory_bytes(plane, "VmRSS")
        for _ in range(ROUNDS - 1):
            send_all()
        assert memory_bytes(plane, "VmRSS") < warm + 24 * 2**20
        assert memory_bytes(plane, "VmHWM") < 250 * 2**20
        connection.close()

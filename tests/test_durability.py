"""What the plane acknowledged over HTTP is there after a kill -9, and the plane comes up with it."""

from __future__ import annotations

import http.client
import threading
import time
from pathlib import Path
from typing import Any

from tests.served import ServedPlane, ask, serve_plane

CONFIGS = "/api/v1/namespaces/default/configmaps"
MERGE = "application/merge-patch+json"
WRITERS = 6
ROUNDS = 3
WRITES_BEFORE_KILL = 60
WRITES_WITHIN_S = 30.0


class Writer:
    """Creates, changes and deletes objects of its own; `known` is what the plane acknowledged of each.

    The last request may have been carried out without an answer, so for its object two states are right.
    """

    def __init__(self, number: int) -> None:
        self.known: dict[str, str | None] = {}
        self.asked: tuple[str, str | None] | None = None
        self.acknowledged = 0
        self._number = number

    def write_until_cut_off(self, plane: ServedPlane) -> None:
        connection = plane.connect()
        try:
            while True:
                self._write(connection)
        except (OSError, http.client.HTTPException):
            return
        finally:
            connection.close()

    def _write(self, connection: http.client.HTTPSConnection) -> None:
        name = f"w{self._number}-{self.acknowledged // 3}"
        step = self.acknowledged % 3
        value = None if step == 2 and self.acknowledged % 2 else f"step {self.acknowledged}"
        self.asked = (name, value)
        if step == 0:
            ask(connection, "POST", CONFIGS, {"metadata": {"name": name}, "data": {"v": value}})
        elif value is None:
            ask(connection, "DELETE", f"{CONFIGS}/{name}")
        else:
            ask(connection, "PATCH", f"{CONFIGS}/{name}", {"data": {"v": value}}, content_type=MERGE)
        self.known[name] = value
        self.acknowledged += 1


def lost(writer: Writer, stored: dict[str, str]) -> list[str]:
    """Where what is stored is neither what was acknowledged nor what was asked for last."""
    name, value = writer.asked or ("", None)
    return [
        f"{each}: acknowledged {known!r}, stored {stored.get(each)!r}"
        for each, known in writer.known.items()
        if stored.get(each) != known and not (each == name and stored.get(each) == value)
    ]


def load_and_kill(plane: ServedPlane, writers: list[Writer]) -> None:
    threads = [threading.Thread(target=writer.write_until_cut_off, args=(plane,)) for writer in writers]
    for thread in threads:
        thread.start()
    deadline = time.monotonic() + WRITES_WITHIN_S
    while sum(writer.acknowledged for writer in writers) < WRITES_BEFORE_KILL:
        assert time.monotonic() < deadline, "the plane is too slow"
        time.sleep(0.01)
    plane.kill()
    for thread in threads:
        thread.join(30)


def read_state(plane: ServedPlane) -> tuple[dict[str, str], int]:
    page: Any = plane.ask("GET", CONFIGS)
    stored = {item["metadata"]["name"]: item["data"]["v"] for item in page["items"] if "v" in (item.get("data") or {})}
    return stored, int(page["metadata"]["resourceVersion"])


def test_a_kill_under_load_loses_no_acknowledged_write(tmp_path: Path) -> None:
    revision = 0
    for number in range(ROUNDS):
        writers = [Writer(number * WRITERS + each) for each in range(WRITERS)]
        with serve_plane(tmp_path / "data") as plane:
            load_and_kill(plane, writers)
        with serve_plane(tmp_path / "data") as plane:
            stored, newest = read_state(plane)
        assert [loss for writer in writers for loss in lost(writer, stored)] == []
        written = sum(writer.acknowledged for writer in writers)
        assert written >= WRITES_BEFORE_KILL
        assert newest >= revision + written
        revision = newest


def test_a_killed_plane_comes_back_with_the_same_objects_and_kinds(tmp_path: Path) -> None:
    with serve_plane(tmp_path / "data") as plane:
        made = plane.ask("POST", CONFIGS, {"metadata": {"name": "c"}, "data": {"v": "1"}})
        secret = plane.ask(
            "POST", "/api/v1/namespaces/default/secrets", {"metadata": {"name": "s"}, "data": {"k": "djE="}}
        )
        plane.kill()
    with serve_plane(tmp_path / "data", plane.port) as plane:
        assert plane.ask("GET", f"{CONFIGS}/c") == made
        assert plane.ask("GET", "/api/v1/namespaces/default/secrets/s") == secret
        changed = plane.ask("PATCH", f"{CONFIGS}/c", {"data": {"v": "2"}}, content_type=MERGE)
        assert int(changed["metadata"]["resourceVersion"]) > int(made["metadata"]["resourceVersion"])


def test_a_watch_resumes_over_a_kill_without_a_gap(tmp_path: Path) -> None:
    with serve_plane(tmp_path / "data") as plane:
        made = plane.ask("POST", CONFIGS, {"metadata": {"name": "c"}, "data": {"v": "1"}})
        for value in ("2", "3"):
            plane.ask("PATCH", f"{CONFIGS}/c", {"data": {"v": value}}, content_type=MERGE)
        plane.kill()
    with serve_plane(tmp_path / "data") as plane:
        connection = plane.connect()
        since = made["metadata"]["resourceVersion"]
        selector = "fieldSelector=metadata.name%3Dc"
        connection.request("GET", f"{CONFIGS}?watch=true&resourceVersion={since}&timeoutSeconds=1&{selector}")
        lines = connection.getresponse().read().splitlines()
        connection.close()
        assert [b'"v":"2"' in lines[0], b'"v":"3"' in lines[1], len(lines)] == [True, True, 2]

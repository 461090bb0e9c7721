"""A little REST API whose objects resources stand for, and a plane with a type of them."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import msgspec

from homeostat.objects.json import JsonObject
from tests.cli.running import Cli, Up, running


class Shelf:
    """What is on it, by name. It may be slow to write, or refuse."""

    def __init__(self) -> None:
        self.items: dict[str, Any] = {}
        self.url = ""
        self.slow_s = 0.0
        self.refuses = 0
        self.writes = 0

    def answer(self, method: str, name: str, body: bytes) -> tuple[int, Any]:
        if self.refuses:
            return self.refuses, {"error": "the shelf is locked"}
        if method != "GET":
            self.writes += 1
            time.sleep(self.slow_s)
        match method:
            case "GET":
                return (200, self.items[name]) if name in self.items else (404, {})
            case "DELETE":
                self.items.pop(name, None)
                return 200, {}
            case _:
                made = msgspec.json.decode(body)
                self.items[made["name"]] = made
                return 200, made


@contextmanager
def serving_shelf() -> Iterator[Shelf]:
    shelf = Shelf()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            code, answer = shelf.answer(self.command, self.path.rpartition("/")[2], body)
            data = msgspec.json.encode(answer)
            self.send_response(code)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        do_POST = do_PUT = do_DELETE = do_GET  # noqa: N815

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    shelf.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    try:
        yield shelf
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def crate_type(shelf: Shelf, **more: Any) -> JsonObject:
    """Crates of a size, with a label that has a default."""
    config = {
        "url": f"{shelf.url}/crates",
        "item": f"{shelf.url}/crates/${{name}}",
        "body": {"name": "${name}", "size": "${spec.size}", "label": "${spec.label}"},
        "outputs": {"where": "name", "size": "size"},
    }
    schema = {
        "type": "object",
        "required": ["size"],
        "properties": {
            "size": {"type": "integer", "minimum": 1, "description": "In litres."},
            "label": {"type": "string", "default": "plain"},
        },
    }
    spec = {"name": "Crate", "schema": schema, "shortNames": ["cr"], "action": {"plugin": "http", "config": config}}
    return {
        "apiVersion": "homeostat.dev/v1alpha1",
        "kind": "ResourceType",
        "metadata": {"name": "crate-v1"},
        "spec": {**spec, **more},
    }


def crate(name: str, **spec: Any) -> JsonObject:
    return {
        "apiVersion": "resources.homeostat.dev/v1",
        "kind": "Crate",
        "metadata": {"name": name},
        "spec": {"size": 1, **spec},
    }


@contextmanager
def actions_plane(cli: Cli, *options: str) -> Iterator[Up]:
    with running(cli, "--operators", "housekeeping,actions", *options) as up:
        yield up


def text_of(*objects: JsonObject) -> str:
    """For standard input."""
    return "\n---\n".join(msgspec.json.encode(each).decode() for each in objects)

from __future__ import annotations

import re
import socket
import subprocess
import sys
from collections.abc import Iterator

import click
import pytest

from homeostat.cli.main import main
from homeostat.runtime.faces.face import PORT as FACES_PORT
from tests.guard.sitecustomize import DEFAULT_PORTS
from tests.ports import free_port

BIND = "import socket; socket.create_server(('127.0.0.1', {port}))"
_LISTENS = re.compile(r"port|addr|health|listen|bind")


def commands(group: click.Group) -> Iterator[click.Command]:
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        yield from commands(command) if isinstance(command, click.Group) else [command]


def default_ports() -> set[int]:
    found = {FACES_PORT}
    for command in commands(main):
        for option in command.params:
            texts = [str(option.default), getattr(option, "help", None) or ""]
            if _LISTENS.search(option.name or ""):
                found |= {int(port) for text in texts for port in re.findall(r"\b\d{4}\b", text)}
    return found


def test_the_guard_knows_the_default_ports_of_all_commands() -> None:
    assert default_ports() == DEFAULT_PORTS


def test_a_test_that_binds_a_default_port_fails() -> None:
    # Not by its type: a worker has loaded the guard under another name before.
    with pytest.raises(BaseException, match=r"127\.0\.0\.1:7443 is a default port"), socket.socket() as taken:
        taken.bind(("127.0.0.1", 7443))


def test_a_process_of_a_test_that_binds_a_default_port_fails() -> None:
    done = subprocess.run([sys.executable, "-c", BIND.format(port=8000)], capture_output=True, text=True, timeout=30)
    assert done.returncode == 1
    assert "127.0.0.1:8000 is a default port" in done.stderr


def test_free_ports_differ_and_can_be_bound() -> None:
    ports = {free_port() for _ in range(50)}
    assert len(ports) == 50
    for port in ports:
        with socket.create_server(("127.0.0.1", port)):
            pass

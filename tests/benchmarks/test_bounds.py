"""Benchmarks end in time, say why, and download nothing unless they are asked to."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import click
import pytest

from benchmarks import load, scaling
from benchmarks.__main__ import _run as run_benchmark
from benchmarks.bench import Scale, open_bench
from benchmarks.connection import connect
from benchmarks.policy import files
from benchmarks.target import Target
from benchmarks.usage import Processes
from homeostat.testing.eventually import eventually


async def test_a_phase_that_takes_too_long_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    ended = asyncio.Event()

    async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()
        writer.close()
        await writer.wait_closed()
        ended.set()

    monkeypatch.setattr(load, "MOST_SECONDS", 0.05)
    server = await asyncio.start_server(silent, "127.0.0.1", 0)
    target = Target.of(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", "")
    caller = await connect(target, target.context())
    try:
        with pytest.raises(click.ClickException, match=r"answered 0 requests of a phase in 0\.05 s.*fewer objects"):
            await load.drive([caller], [target.request("GET", "/", b"")], expect=200)
    finally:
        caller.close()
        await ended.wait()
        server.close()


async def test_a_caller_whose_idle_connection_was_closed_connects_again() -> None:
    async def once(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")
        writer.close()
        await writer.wait_closed()

    server = await asyncio.start_server(once, "127.0.0.1", 0)
    target = Target.of(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", "")
    async with open_bench(target, Processes([os.getpid()]), Scale(callers=1)) as bench:
        assert (await bench.ask("GET", "/")).body == b"{}"
        await eventually(lambda: bench.caller.is_open, lambda is_open: not is_open)
        assert (await bench.ask("GET", "/")).body == b"{}"
    server.close()


async def test_a_measurement_of_scaling_ends_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    async def forever() -> float:
        await asyncio.Event().wait()
        raise AssertionError

    monkeypatch.setattr(scaling, "_idle_mib", forever)
    with pytest.raises(click.ClickException, match=r"minutes were over while measuring an idle plane; allow more"):
        await scaling.show_scaling([1000], [], minutes=0.0005)


def test_an_unexpected_answer_of_a_task_is_a_message() -> None:
    async def work() -> None:
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(fail())

    async def fail() -> None:
        raise load.UnexpectedAnswerError("the server cannot keep up")

    with pytest.raises(load.UnexpectedAnswerError, match="cannot keep up"):
        run_benchmark(work())


def test_gator_is_built_with_go_and_otherwise_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(files, "_GATOR", tmp_path / "gator")
    with pytest.raises(click.ClickException, match="leave --build-gator out"):
        files.build_gator()

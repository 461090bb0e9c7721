"""The figures as a table for people and as JSON for programs."""

from __future__ import annotations

import os
import platform
import sqlite3
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from benchmarks.measurement import Measurement
from benchmarks.reference import Bound, Comparison, References

_WIDTH = 140
_SHORT = {"rate": "rate", "p50_ms": "p50", "p99_ms": "p99", "cpu_ms": "CPU"}


class Report(msgspec.Struct):
    machine: str
    objects: int
    measurements: list[Measurement] = []
    figures: dict[str, float] = {}
    notes: list[str] = []

    def save(self, path: Path) -> None:
        path.write_bytes(msgspec.json.format(msgspec.json.encode(self)) + b"\n")


def machine() -> str:
    return (
        f"{os.cpu_count()} cores, {platform.system()} {platform.machine()},"
        f" Python {platform.python_version()}, SQLite {sqlite3.sqlite_version}"
    )


def console() -> Console:
    """As wide as the terminal; where there is none, as wide as the table."""
    found = Console()
    return found if found.is_terminal else Console(width=_WIDTH)


def show(report: Report, references: References, console: Console) -> None:
    console.print(_phases(report, references))
    if report.figures:
        console.print(_figures(report.figures, references))
    for note in (*report.notes, *_own_notes(report), f"Reference: {references.about}"):
        console.print(f"[dim]{note}[/dim]")


def _phases(report: Report, references: References) -> Table:
    table = Table(title=f"{report.objects:,} objects; {report.machine}", title_justify="left", box=SIMPLE_HEAD)
    table.add_column("phase", no_wrap=True)
    for heading in ("a second", "p50 ms", "p99 ms", "CPU ms", "MiB", "x rate", "x time", "x CPU"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("wanted")
    for measured in report.measurements:
        table.add_row(*_row(references.compare(measured, report.objects)))
    return table


def _row(compared: Comparison) -> list[str]:
    measured = compared.measured
    return [
        measured.phase + (" ~" if measured.is_disturbed else ""),
        f"{measured.rate:,.0f}",
        f"{measured.p50_ms:.2f}",
        f"{measured.p99_ms:.2f}",
        f"{measured.cpu_ms:.3f}",
        f"{measured.rss_mib:.0f}",
        _times(compared.rate),
        _times(compared.p99_ms if compared.wanted.p99_ms else compared.p50_ms),
        _times(compared.cpu_ms),
        _verdict(compared),
    ]


def _verdict(compared: Comparison) -> str:
    """What is wanted and whether it is so; where others had the machine, what they can have spoilt is left open."""
    texts = []
    for name, times in compared.wanted.asked():
        is_spoilt = compared.measured.is_disturbed and name != "cpu_ms"
        text = f"{_SHORT[name]} {times:g}x"
        is_missed = name in compared.missed
        texts.append(f"[yellow]{text} ?[/yellow]" if is_missed and is_spoilt else _marked(text, not is_missed))
    if compared.measured.lost:
        texts.append(_marked(f"all seen, {compared.measured.lost} lost", False))
    return ", ".join(texts)


def _marked(text: str, is_met: bool) -> str:
    return f"[green]{text} yes[/green]" if is_met else f"[red]{text} NO[/red]"


def _times(ratio: float) -> str:
    if not ratio:
        return ""
    return ">999" if ratio > 999 else f"{ratio:.1f}"


def _figures(figures: Mapping[str, float], references: References) -> Table:
    table = Table("what", "measured", "reference", "wanted", box=SIMPLE_HEAD)
    for name, value in figures.items():
        bound = references.figures.get(name, Bound(""))
        wanted = _marked(f"{bound.most:g} {bound.unit}", value <= bound.most) if bound.most else ""
        reference = f"{bound.reference:g} {bound.unit}" if bound.reference else ""
        table.add_row(name, f"{value:.3g} {bound.unit}", reference, wanted)
    return table


def _own_notes(report: Report) -> Sequence[str]:
    notes = []
    if any(each.is_disturbed for each in report.measurements):
        notes.append("~ others used the machine meanwhile; the CPU of a request says more there than times do.")
    gets = [each for each in report.measurements if each.phase == "get"]
    if gets:
        own = gets[0].own_ms
        notes.append(
            f"The generator takes {own:.3f} ms of CPU a get itself: one core of it ends at {1e3 / own:,.0f} a second."
        )
    return notes

"""A report as JSON, for programs: stable names, no times, equal reports give equal bytes."""

from __future__ import annotations

import msgspec

from homeostat.operators.policy.report.report import Report


def render(report: Report) -> bytes:
    body = {
        "scores": [msgspec.to_builtins(each) for each in report.scores],
        "violations": [msgspec.to_builtins(each) for each in report.entries],
        "errors": [msgspec.to_builtins(each) for each in report.troubles],
    }
    return msgspec.json.format(msgspec.json.encode(body), indent=2) + b"\n"

"""A report as SARIF 2.1.0, for code scanning services."""

from __future__ import annotations

from typing import Final
from urllib.parse import quote

import msgspec

from homeostat.objects.json import JsonObject
from homeostat.objects.report.report import Entry, Report, Severity, Terms

_SCHEMA: Final = "https://json.schemastore.org/sarif-2.1.0.json"
_LEVELS: Final[dict[Severity, str]] = {"critical": "error", "high": "error", "medium": "warning", "low": "note"}
_RANKS: Final[dict[Severity, str]] = {"critical": "9.5", "high": "8.0", "medium": "5.0", "low": "2.0"}
_HOME: Final = "https://homeostat.dev"


def render(report: Report, *, version: str) -> bytes:
    rules = sorted({each.type: each for each in reversed(report.entries)}.items())
    places = {name: at for at, (name, _) in enumerate(rules)}
    run = {
        "tool": {
            "driver": {
                "name": "homeostat",
                "version": version,
                "informationUri": _HOME,
                "rules": [_rule(name, entry, report.terms) for name, entry in rules],
            }
        },
        "results": [_result(each, places[each.type], report.terms) for each in report.entries],
        "invocations": [
            {
                "executionSuccessful": not report.problems,
                "toolExecutionNotifications": [
                    {
                        "level": "error",
                        "message": {"text": each.message},
                        "locations": [_location(each.source, each.line)],
                    }
                    for each in report.problems
                ],
            }
        ],
    }
    body = {"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}
    return msgspec.json.format(msgspec.json.encode(body), indent=2) + b"\n"


def _rule(name: str, entry: Entry, terms: Terms) -> JsonObject:
    remedy = terms.remedies.get(name)
    return {
        "id": name,
        "name": "".join(word[:1].upper() + word[1:] for word in name.replace("-", "_").split("_")),
        "shortDescription": {"text": name.replace("_", " ")},
        **({"help": {"text": remedy}} if remedy else {}),
        "defaultConfiguration": {"level": _LEVELS[entry.severity]},
        "properties": {"security-severity": _RANKS[entry.severity], "tags": ["kubernetes", terms.topic]},
    }


def _result(entry: Entry, rule: int, terms: Terms) -> JsonObject:
    where = f"{entry.kind}/{entry.namespace}/{entry.name}"
    location = _location(entry.source, entry.line) if entry.source else {}
    location["logicalLocations"] = [{"fullyQualifiedName": where, "kind": "resource"}]
    identity = "/".join((entry.origin, where, entry.part, entry.type))
    return {
        "ruleId": entry.type,
        "ruleIndex": rule,
        "level": _LEVELS[entry.severity],
        "message": {"text": f"{entry.object}: {entry.message}"},
        "locations": [location],
        "partialFingerprints": {f"{terms.finding}/v1": identity},
    }


def _location(source: str, line: int) -> JsonObject:
    return {
        "physicalLocation": {
            "artifactLocation": {"uri": quote(source.removeprefix("./"), safe="/._-~")},
            "region": {"startLine": max(line, 1)},
        }
    }
